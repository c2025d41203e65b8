package export

import (
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"skillgraph/internal/errs"
	"skillgraph/models"
)

const (
	typeNDJSON = "application/x-ndjson"
	typeCSV    = "text/csv"
)

// read finds out what is wanted. An unknown parameter is refused: one that is misspelled would give all rows for a few.
func read(dataset string, r *http.Request) (in models.Export, err error) {
	in.Dataset = dataset
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return in, errs.At().Because("the query of the URL is not readable: %s", err)
	}
	for name, values := range query {
		value := values[len(values)-1]
		switch name {
		case "format":
		case "since":
			in.Since, err = instant(name, value)
		case "until":
			in.Until, err = instant(name, value)
		case "skill":
			in.Skill, err = value, notEmpty(name, value)
		case "after":
			in.After, err = value, notEmpty(name, value)
		default:
			err = errs.At(name).Because("there is no such parameter: there are format, since, until, skill and after")
		}
		if err != nil {
			return in, err
		}
	}
	if in.CSV, err = wantsCSV(query, r.Header.Values("Accept")); err != nil {
		return in, err
	}
	return in, in.Validate()
}

func notEmpty(name, value string) error {
	if value == "" {
		return errs.At(name).Because("must not be empty")
	}
	return nil
}

// instant reads a time, or a day for its beginning in UTC. A plus that was not escaped has become a space.
func instant(name, value string) (time.Time, error) {
	value = strings.ReplaceAll(value, " ", "+")
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, value); err == nil && t.Year() > 0 {
			return t, nil
		}
	}
	return time.Time{}, errs.At(name).Because("must be a time such as 2026-11-15T12:00:00Z, or a day such as 2026-11-15")
}

// wantsCSV goes by the parameter and, without it, by what the client likes best; what it likes as well as CSV is NDJSON.
func wantsCSV(query url.Values, accept []string) (bool, error) {
	if query.Has("format") {
		switch query.Get("format") {
		case "ndjson":
			return false, nil
		case "csv":
			return true, nil
		}
		return false, errs.At("format").Because("must be ndjson or csv")
	}
	header := strings.Join(accept, ",")
	if strings.TrimSpace(header) == "" {
		return false, nil
	}
	ndjson, csv := liking(header, typeNDJSON), liking(header, typeCSV)
	if ndjson == 0 && csv == 0 {
		return false, errs.New(errs.NotAcceptable, "An export can be %s or %s", typeNDJSON, typeCSV)
	}
	return csv > ndjson, nil
}

// liking is how much a header such as Accept wants something, 0 to 1: what is said most exactly counts.
func liking(header, want string) (q float64) {
	group, _, _ := strings.Cut(want, "/")
	exact := 0
	for part := range strings.SplitSeq(header, ",") {
		name, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		fits := map[string]int{want: 3, group + "/*": 2, "*/*": 1, "*": 1}[name]
		if fits <= exact {
			continue
		}
		exact, q = fits, 1
		if given, there := params["q"]; there {
			if q, err = strconv.ParseFloat(given, 64); err != nil {
				q = 0
			}
		}
	}
	return q
}
