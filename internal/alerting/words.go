package alerting

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// fact is a figure with its name.
type fact struct{ Name, Value string }

// name is the skill's name on one line and in the channel's own spelling, which must keep it from being read as markup.
func (n Notice) name(spell func(string) string) string {
	const longest = 100
	line := strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r):
			return ' '
		case unicode.Is(unicode.Cf, r): // invisible, or turns the direction of the words around it
			return -1
		}
		return r
	}, n.Skill)), " ")
	if line == "" {
		return "any skill"
	}
	if runes := []rune(line); len(runes) > longest {
		line = string(runes[:longest]) + "…"
	}
	return spell(line)
}

func (n Notice) noData() bool { return n.Type == "no_data" }

func (n Notice) title() string {
	switch {
	case n.State == "test":
		return "Test of an alert"
	case n.State == "resolved" && n.noData():
		return "Sessions again"
	case n.State == "resolved":
		return "Pass rate recovered"
	case n.Reminder && n.noData():
		return "Still no sessions"
	case n.Reminder:
		return "Pass rate still below the threshold"
	case n.noData():
		return "No sessions"
	}
	return "Pass rate below the threshold"
}

// text is the news in one sentence.
func (n Notice) text(name string) string {
	still := ""
	if n.Reminder {
		still = " still"
	}
	switch {
	case n.State == "test":
		return fmt.Sprintf("This is a test of the alert on %s: the channel works", name)
	case n.State == "resolved" && n.noData():
		return name + " has sessions again"
	case n.State == "resolved" && n.CurrentPassRate == nil:
		return fmt.Sprintf("%s is no longer below the threshold of %s", name, share(n.Threshold))
	case n.State == "resolved":
		return fmt.Sprintf("%s passes %s of its graded sessions, no longer below the threshold of %s", name, rate(*n.CurrentPassRate, n.Threshold), share(n.Threshold))
	case n.noData() && n.DaysWithoutData == nil:
		return fmt.Sprintf("%s:%s no session for at least %s", name, still, days(n.limit()))
	case n.noData():
		return fmt.Sprintf("%s:%s no session for %s (alert after %s)", name, still, days(tenths(*n.DaysWithoutData)), decimal(n.limit()))
	case n.CurrentPassRate == nil:
		return fmt.Sprintf("%s is%s below the threshold of %s", name, still, share(n.Threshold))
	}
	return fmt.Sprintf("%s%s passes %s of its graded sessions, below the threshold of %s", name, still, rate(*n.CurrentPassRate, n.Threshold), share(n.Threshold))
}

// rule says what the alert waits for.
func (n Notice) rule(name string) string {
	if n.noData() {
		return fmt.Sprintf("Alert when %s has no session for %s", name, days(n.limit()))
	}
	return fmt.Sprintf("Alert when %s passes less than %s of its graded sessions", name, share(n.Threshold))
}

func (n Notice) facts() []fact {
	var out []fact
	switch {
	case n.noData():
		if n.DaysWithoutData != nil {
			out = append(out, fact{"Without a session", days(tenths(*n.DaysWithoutData))})
		}
		return append(out, fact{"Threshold", days(n.limit())})
	case n.CurrentPassRate != nil:
		out = append(out, fact{"Pass rate", rate(*n.CurrentPassRate, n.Threshold)})
	}
	return append(out, fact{"Threshold", share(n.Threshold)})
}

func (n Notice) when() string {
	return "Triggered " + n.TriggeredAt.UTC().Format("2006-01-02 15:04 UTC")
}

// limit is the days that no_data waits: a threshold of 0 counts as 1.
func (n Notice) limit() float64 {
	if n.Threshold == 0 {
		return 1
	}
	return n.Threshold
}

// rate rounds to whole percents, or as finely as it takes to show on which side of the threshold it is: 74.8% is below
// 75%, but "75%, below the threshold of 75%" would read like a mistake.
func rate(x, threshold float64) string {
	scale := 100.0
	for (math.Round(x*scale)/scale < threshold) != (x < threshold) && scale < 1e8 {
		scale *= 10
	}
	return decimal(math.Round(x*scale)/(scale/100)) + "%"
}

func share(threshold float64) string { return decimal(math.Round(threshold*1e6)/1e4) + "%" }

func days(x float64) string {
	if x == 1 {
		return "1 day"
	}
	return decimal(x) + " days"
}

func tenths(x float64) float64 { return math.Round(x*10) / 10 }

func decimal(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
