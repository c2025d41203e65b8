package registry

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"skillgraph/internal/ids"
	"skillgraph/internal/request"
	"skillgraph/internal/store"
)

// LinkLife is how long a signed link works.
const LinkLife = 5 * time.Minute

// Links makes and checks links that anybody may follow, for a while.
type Links struct {
	Store *store.Store
	Clock func() time.Time
}

// secretName is under which the store keeps what signs links: every server reads the links of every other.
const secretName = "links"

// To is the link to a version's archive.
func (l Links) To(ctx context.Context, version ids.ID) (string, error) {
	until := strconv.FormatInt(l.Clock().Add(LinkLife).Unix(), 10)
	signature, err := l.sign(ctx, version, until)
	if err != nil {
		return "", err
	}
	q := url.Values{"expires": {until}, "signature": {signature}}
	return fmt.Sprintf("%s%s%s?%s", request.Base(ctx), Path, version, q.Encode()), nil
}

// Holds reports whether a link to the version is ours and still works.
func (l Links) Holds(ctx context.Context, version ids.ID, until, signature string) (bool, error) {
	want, err := l.sign(ctx, version, until)
	if err != nil {
		return false, err
	}
	end, err := strconv.ParseInt(until, 10, 64)
	return err == nil && hmac.Equal([]byte(want), []byte(signature)) && l.Clock().Before(time.Unix(end, 0)), nil
}

func (l Links) sign(ctx context.Context, version ids.ID, until string) (string, error) {
	secret, err := l.Store.Secret(ctx, secretName)
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("GET " + version.String() + " " + until))
	return hex.EncodeToString(mac.Sum(nil)), nil
}
