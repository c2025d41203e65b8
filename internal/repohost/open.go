package repohost

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"

	"skillgraph/internal/outbound"
)

// Settings choose a driver: with the three of the app, that one; with none of them, the local one.
type Settings struct {
	Root               string // of local repositories
	URL, AppID, AppKey string // of the app: where the API is, its id, and the file with its private key
	Networks           []netip.Prefix
	Now                func() time.Time
}

// Open makes the driver. What is wrong is told with the name of the flag.
func Open(s Settings) (Driver, error) {
	set, missing := "", ""
	for _, f := range []struct{ name, value string }{{"--repohost-url", s.URL}, {"--repohost-app-id", s.AppID}, {"--repohost-app-key", s.AppKey}} {
		if f.value == "" {
			missing = f.name
		} else {
			set = f.name
		}
	}
	if set == "" {
		return NewLocal(s.Root), nil
	}
	if missing != "" {
		return nil, fmt.Errorf("%s is missing: with %s it takes --repohost-url, --repohost-app-id and --repohost-app-key", missing, set)
	}
	if err := checkBase(s.URL, s.Networks); err != nil {
		return nil, fmt.Errorf("--repohost-url %w", err)
	}
	text, err := os.ReadFile(s.AppKey)
	if err != nil {
		return nil, fmt.Errorf("--repohost-app-key: %w", err)
	}
	key, err := ParseKey(text)
	if err != nil {
		return nil, fmt.Errorf("--repohost-app-key %s %w", s.AppKey, err)
	}
	return NewApp(s.URL, s.AppID, key, s.Networks, s.Now), nil
}

var anywhere = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}

// checkBase wants an address that keeps tokens secret.
func checkBase(base string, allow []netip.Prefix) error {
	if err := outbound.CheckURL(base, anywhere); err != nil {
		return err
	}
	if err := outbound.CheckURL(base, allow); err != nil {
		return fmt.Errorf("%w that --allow-networks does not list", err)
	}
	u, err := url.Parse(base)
	if err != nil {
		return err
	}
	a, err := netip.ParseAddr(u.Hostname())
	loopback := strings.EqualFold(u.Hostname(), "localhost") || err == nil && a.IsLoopback()
	if u.Scheme != "https" && !loopback {
		return errors.New("must begin with https: tokens travel there")
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return errors.New("must end with its path")
	}
	return nil
}
