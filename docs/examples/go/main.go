// Lists every skill with its health and the newest versions of its registry entry.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/Khan/genqlient/graphql"
)

func main() {
	keyed := &http.Client{Transport: bearer(os.Getenv("SKILLGRAPH_KEY"))}
	client := graphql.NewClient(os.Getenv("SKILLGRAPH_URL")+"/graphql", keyed)
	if err := list(context.Background(), client); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// bearer is an API key that goes with every request.
type bearer string

func (key bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(key))
	return http.DefaultTransport.RoundTrip(r)
}

// list asks for page after page, until there is no next one.
func list(ctx context.Context, client graphql.Client) error {
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	defer table.Flush()
	fmt.Fprintln(table, "SKILL\tSTATUS\tPASSES\tFIRES\tNEWEST VERSIONS")
	for after := (*string)(nil); ; {
		answer, err := Skills(ctx, client, after)
		if err != nil {
			return err
		}
		for _, s := range answer.Skills.Nodes {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", s.Name, s.Status, percent(s.PassRate), percent(s.TriggerRate), versions(s))
		}
		if !answer.Skills.PageInfo.HasNextPage {
			return nil
		}
		after = answer.Skills.PageInfo.EndCursor
	}
}

func percent(rate *float64) string {
	if rate == nil {
		return "-" // nothing to divide by is not 0%
	}
	return fmt.Sprintf("%.0f%%", 100**rate)
}

func versions(s Skill) string {
	if s.RegistryEntry == nil {
		return "-"
	}
	var words []string
	for _, v := range s.RegistryEntry.Versions.Nodes {
		switch {
		case v.IsCurrent:
			words = append(words, v.Version+" (current)")
		case v.RevokedAt != nil:
			words = append(words, v.Version+" (revoked)")
		case v.RolledBack:
			words = append(words, v.Version+" (rolled back)")
		default:
			words = append(words, v.Version)
		}
	}
	return strings.Join(words, ", ")
}
