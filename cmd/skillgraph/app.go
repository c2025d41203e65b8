package main

import (
	"fmt"
	"time"

	"skillgraph/internal/outbound"
	"skillgraph/internal/repohost"
)

// appFlags say where the code host is that has our app: all of them, or none.
type appFlags struct{ url, id, key string }

func (a *appFlags) register(f *flags) {
	f.StringVar(&a.url, "repohost-url", "", "API of a code host where an app is installed, such as https://code.example.com/api/v3 (default: local repositories)")
	f.StringVar(&a.id, "repohost-app-id", "", "id of that app")
	f.StringVar(&a.key, "repohost-app-key", "", "file with the private key of that app, in PEM")
}

// codeHost is the code host with the app, or else local repositories.
func (cfg serveConfig) codeHost() (driver repohost.Driver, local bool, err error) {
	allow, err := outbound.ParseNetworks(cfg.telemetry.allowNetworks)
	if err != nil {
		return nil, false, fmt.Errorf("--allow-networks: %w", err)
	}
	driver, err = repohost.Open(repohost.Settings{
		Root: cfg.reposRoot(), URL: cfg.app.url, AppID: cfg.app.id, AppKey: cfg.app.key, Networks: allow, Now: time.Now,
	})
	return driver, cfg.app.url == "", err
}
