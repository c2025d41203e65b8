package repohost

import (
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"skillgraph/internal/errs"
)

// scope is what a token is for. Each asks for the least that its calls need, so that an installation which has not agreed to
// one of them can do the others.
type scope string

const (
	reading  scope = `{"contents":"read","metadata":"read"}`
	statuses scope = `{"statuses":"write","metadata":"read"}`
	checks   scope = `{"checks":"write","metadata":"read"}`
)

// margin is how long a token is good for at least when it is used.
const margin = time.Minute

type grant struct {
	installation int64
	scope        scope
}

// token is a token of an installation.
type token struct {
	busy  chan struct{} // full while somebody looks at it
	value string
	until time.Time
}

// token is one that is good for a while, and that is not a given one, which was refused.
func (d *App) token(ctx context.Context, a Account, s scope, not string) (string, error) {
	d.mu.Lock()
	t := d.tokens[grant{a.InstallationID, s}]
	if t == nil {
		t = &token{busy: make(chan struct{}, 1)}
		d.tokens[grant{a.InstallationID, s}] = t
	}
	d.mu.Unlock()
	select {
	case t.busy <- struct{}{}:
		defer func() { <-t.busy }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	if t.value != "" && t.value != not && d.now().Before(t.until.Add(-margin)) {
		return t.value, nil
	}
	value, until, err := d.buy(ctx, a, s)
	if err != nil {
		return "", err
	}
	t.value, t.until = value, until
	return value, nil
}

// buy asks for a new token.
func (d *App) buy(ctx context.Context, a Account, s scope) (string, time.Time, error) {
	var made struct {
		Token     string    `json:"token"`
		ExpiresAt time.Time `json:"expires_at"`
	}
	err := d.asApp(ctx, a, http.MethodPost, "/access_tokens", map[string]json.RawMessage{"permissions": json.RawMessage(s)}, &made)
	switch {
	case refused(err, http.StatusUnprocessableEntity) && s != reading: // the account has not agreed
		return "", time.Time{}, ErrUnsupported
	case err != nil:
		return "", time.Time{}, d.explain(a, "", err)
	case made.Token == "":
		return "", time.Time{}, senseless()
	}
	return made.Token, made.ExpiresAt, nil
}

// Check asks the host whose installation it is.
func (d *App) Check(ctx context.Context, a Account) error {
	var found struct {
		Account struct {
			Login string `json:"login"`
		} `json:"account"`
	}
	if err := d.asApp(ctx, a, http.MethodGet, "", nil, &found); err != nil {
		return d.explain(a, "", err)
	}
	if !strings.EqualFold(found.Account.Login, a.Login) {
		return noInstallation(a)
	}
	return nil
}

func noInstallation(a Account) error {
	return errs.New(errs.Conflict, "The code host has no installation %d of the account %s", a.InstallationID, a.Login)
}

// asApp asks about an installation, as the app itself.
func (d *App) asApp(ctx context.Context, a Account, method, rest string, in, out any) error {
	jwt, err := d.jwt()
	if err != nil {
		return err
	}
	ctx, cancel := within(ctx, d.quick)
	defer cancel()
	res, err := d.send(ctx, a, jwt, method, fmt.Sprintf("%s/app/installations/%d%s", d.base, a.InstallationID, rest), in)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	return d.decode(ctx, res.Body, out)
}

// jwt is a JSON Web Token of the app. It begins a minute ago and lasts nine, so that the clocks of both may differ by as much.
func (d *App) jwt() (string, error) {
	now := d.now()
	claims, err := json.Marshal(map[string]any{"iss": d.id, "iat": now.Add(-time.Minute).Unix(), "exp": now.Add(9 * time.Minute).Unix()})
	if err != nil {
		return "", err
	}
	enc := base64.RawURLEncoding
	signed := enc.EncodeToString([]byte(`{"alg":"RS256","typ":"JWT"}`)) + "." + enc.EncodeToString(claims)
	sum := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(nil, d.key, crypto.SHA256, sum[:])
	return signed + "." + enc.EncodeToString(signature), err
}

// ParseKey reads the private key of an app, as the host gives it out: RSA, in PEM.
func ParseKey(text []byte) (*rsa.PrivateKey, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("is not a private key in PEM")
	}
	key, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err == nil {
		return key, nil
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if key, ok := parsed.(*rsa.PrivateKey); ok && err == nil {
		return key, nil
	}
	return nil, errors.New("is not an RSA private key")
}
