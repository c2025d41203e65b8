package alerting

import "strings"

// object is JSON as it is written.
type object map[string]any

// In both chats a name stands in a code span, where nothing is a link, a mention or markup; only a backtick ends it.
// The first service reads <…> and & everywhere, so these are escaped as well.
var (
	spellA = strings.NewReplacer("`", "'", "&", "&amp;", "<", "&lt;", ">", "&gt;")
	spellB = strings.NewReplacer("`", "'")
	linkA  = strings.NewReplacer("&", "&amp;", "<", "%3C", ">", "%3E", "|", "%7C")
)

func chatA(n Notice) object {
	name := n.name(func(s string) string { return "`" + spellA.Replace(s) + "`" })
	text := n.text(name)
	var fields []object
	for _, f := range n.facts() {
		fields = append(fields, markdown("*"+f.Name+"*\n"+f.Value))
	}
	notes := n.rule(name) + " · " + n.when()
	if n.Link != "" {
		notes += " · <" + linkA.Replace(n.Link) + "|Open in skillgraph>"
	}
	return object{
		"text": text, // what notifications show; people see the blocks
		"blocks": []object{
			{"type": "header", "text": object{"type": "plain_text", "text": n.title()}},
			{"type": "section", "text": markdown(text), "fields": fields},
			{"type": "context", "elements": []object{markdown(notes)}},
		},
		"unfurl_links": false,
		"unfurl_media": false,
	}
}

// markdown is text of the first service; verbatim keeps it from making links and mentions of its own.
func markdown(s string) object {
	return object{"type": "mrkdwn", "text": s, "verbatim": true}
}

func chatB(n Notice) object {
	name := n.name(func(s string) string { return "`" + spellB.Replace(s) + "`" })
	var fields []object
	for _, f := range n.facts() {
		fields = append(fields, object{"name": f.Name, "value": f.Value, "inline": true})
	}
	embed := object{
		"title": n.title(), "description": n.rule(name), "color": n.color(), "fields": fields,
		"timestamp": n.TriggeredAt.UTC().Format(wireTime),
	}
	if n.Link != "" {
		embed["url"] = n.Link
	}
	return object{
		"content":          n.text(name),
		"embeds":           []object{embed},
		"allowed_mentions": object{"parse": []string{}}, // nobody is called, whatever the text says
	}
}

func (n Notice) color() int {
	const red, green, blue = 0xD64545, 0x2E9E5B, 0x3B7DD8
	switch n.State {
	case "firing":
		return red
	case "resolved":
		return green
	}
	return blue
}
