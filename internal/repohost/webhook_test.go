package repohost_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/errs"
	"skillgraph/internal/repohost"
	"skillgraph/internal/repohost/apphost"
)

func TestExamples(t *testing.T) {
	t.Parallel()
	all := apphost.Examples(t)
	read := func(event string) (out []repohost.Delivery) {
		for _, body := range all[event] {
			d, err := repohost.ParseDelivery(event, body)
			require.NoError(t, err, "%s", body)
			require.Equal(t, event, d.Event)
			out = append(out, d)
		}
		return out
	}
	const (
		zeros = "0000000000000000000000000000000000000000"
		sha   = "6113728f27ae82c7b1a177c8d03f9e96e0adf246"
		repo  = "Codertocat/Hello-World"
		id    = 186853002
	)
	at := time.Date(2019, 5, 15, 15, 20, 57, 0, time.UTC)
	made := repohost.Delivery{Event: "push", RepoID: id, RepoFullName: repo, Ref: "refs/tags/simple-tag", Before: zeros, After: sha, Created: true, At: at}
	gone := repohost.Delivery{Event: "push", RepoID: id, RepoFullName: repo, Ref: "refs/tags/simple-tag", Before: sha, After: zeros, Deleted: true, At: at}
	installed := gone
	installed.InstallationID = 1
	branch := made
	branch.InstallationID, branch.Ref = 1, "refs/heads/master"
	require.Equal(t, []repohost.Delivery{made, gone, gone, installed, branch, branch, gone}, read("push"))

	changed := func(action string, id int64, at time.Time) repohost.Delivery {
		return repohost.Delivery{Event: "installation", Action: action, InstallationID: id, At: at}
	}
	deleted := changed("deleted", 2, time.Unix(1525109899, 0).UTC())
	deleted.InstallationDeleted = true
	created, accepted := changed("created", 957387, time.Unix(1557933591, 0).UTC()), changed("new_permissions_accepted", 957387, time.Unix(1557933591, 0).UTC())
	suspended := changed("suspend", 16598467, time.Date(2021, 4, 29, 2, 32, 50, 0, time.UTC))
	resumed := suspended
	resumed.Action, suspended.Suspended, resumed.Suspended = "unsuspend", new(true), new(false)
	require.Equal(t, []repohost.Delivery{deleted, created, created, deleted, accepted, suspended, resumed}, read("installation"))

	former := map[string]string{}
	for _, d := range read("repository") {
		require.NotEmpty(t, d.RepoFullName)
		require.Positive(t, d.RepoID)
		require.NotZero(t, d.At)
		former[d.Action] = d.FormerName
	}
	require.Equal(t, map[string]string{
		"created": "", "edited": "", "privatized": "", "publicized": "", "renamed": "Octocoders/Hello-World", "transferred": "octocat/Hello-World",
	}, former)
	count := 0
	for event := range all {
		for _, d := range read(event) {
			count++
			if event != "push" && event != "installation" && event != "repository" {
				require.Equal(t, repohost.Delivery{Event: event}, d)
			}
		}
	}
	require.Equal(t, 329, count)
}

// Not every host says in so many words what the commits say.
func TestParseDelivery(t *testing.T) {
	t.Parallel()
	one, none := strings.Repeat("1", 40), strings.Repeat("0", 40)
	d, err := repohost.ParseDelivery("push", []byte(`{"ref":"refs/heads/main","before":"`+none+`","after":"`+one+`","repository":{"id":9007199254740993,"full_name":"acme/skills","pushed_at":"yesterday"},"commits":[]}`))
	require.NoError(t, err)
	require.Equal(t, repohost.Delivery{Event: "push", RepoID: 9007199254740993, RepoFullName: "acme/skills", Ref: "refs/heads/main", Before: none, After: one, Created: true}, d)
	d, err = repohost.ParseDelivery("push", []byte(`{"ref":"refs/heads/main","before":"`+one+`","after":"`+none+`","forced":true,"repository":{"id":1,"full_name":"acme/skills","pushed_at":"2026-11-15T13:00:00+01:00"}}`))
	require.NoError(t, err)
	require.True(t, d.Deleted && d.Forced && !d.Created)
	require.Equal(t, noon, d.At)

	push := func(ref, before, after, id, name string) string {
		return `{"ref":` + ref + `,"before":` + before + `,"after":` + after + `,"repository":{"id":` + id + `,"full_name":` + name + `}}`
	}
	for _, c := range []struct{ event, body, path, want string }{
		{"push", "", "body", "must be the JSON of a delivery"},
		{"push", "payload=%7B%7D", "body", "must be the JSON of a delivery"},
		{"push", push(`"refs/heads/main"`, `"`+one+`"`, `"`+one+`"`, `"1"`, `"a/b"`), "body", "must be the JSON of a delivery"},
		{"push", push(`"refs/heads/main"`, `"`+one+`"`, `"`+one+`"`, "9223372036854775808", `"a/b"`), "body", "must be the JSON of a delivery"},
		{"push", "{}", "ref", "must begin with refs/"},
		{"push", "null", "ref", "must begin with refs/"},
		{"push", push(`"main"`, `"`+one+`"`, `"`+one+`"`, "1", `"a/b"`), "ref", "must begin with refs/"},
		{"push", push(`"refs/heads/main"`, `"x"`, `"`+one+`"`, "1", `"a/b"`), "before", "must be a commit"},
		{"push", push(`"refs/heads/main"`, `"`+one+`"`, `"`+one+`\n"`, "1", `"a/b"`), "after", "must be a commit"},
		{"push", push(`"refs/heads/main"`, `"`+one+`"`, `"`+one+`"`, "-1", `"a/b"`), "repository.id", "must not be below zero"},
		{"push", push(`"refs/heads/main"`, `"`+one+`"`, `"`+one+`"`, "1", `"a"`), "repository.full_name", "must be owner/repo"},
		{"push", push(`"refs/heads/main"`, `"`+one+`"`, `"`+one+`"`, "1", `"a/b/c"`), "repository.full_name", "must be owner/repo"},
		{"installation", `{"action":"suspend"}`, "installation.id", "must be a positive number"},
		{"repository", `{"action":"renamed"}`, "repository.full_name", "must be owner/repo"},
	} {
		_, err := repohost.ParseDelivery(c.event, []byte(c.body))
		var e *errs.Error
		require.ErrorAs(t, err, &e, c.body)
		require.Equal(t, errs.Error{Code: errs.Invalid, Message: c.want, Path: strings.Split(c.path, ".")}, *e, c.body)
	}
	for _, event := range []string{"ping", "star", ""} {
		d, err := repohost.ParseDelivery(event, []byte("not read"))
		require.NoError(t, err)
		require.Equal(t, repohost.Delivery{Event: event}, d)
	}
}

func sign(secret, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// No bit of a signature, of the body or of the secret can be another.
func TestVerify(t *testing.T) {
	t.Parallel()
	// The host's own example, from its documentation.
	require.True(t, repohost.Verify([]byte("It's a Secret to Everybody"), []byte("Hello, World!"), "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"))
	const secret, body = "a secret", `{"ref":"refs/heads/main"}`
	signature := sign(secret, body)
	require.True(t, repohost.Verify([]byte(secret), []byte(body), signature))
	flipped := func(s string, check func(string)) {
		for i := range len(s) * 8 {
			b := []byte(s)
			b[i/8] ^= 1 << (i % 8)
			check(string(b))
		}
	}
	flipped(signature, func(s string) { require.False(t, repohost.Verify([]byte(secret), []byte(body), s), s) })
	flipped(body, func(s string) { require.False(t, repohost.Verify([]byte(secret), []byte(s), signature), s) })
	flipped(secret, func(s string) { require.False(t, repohost.Verify([]byte(s), []byte(body), signature), s) })
	for _, s := range []string{"", "sha256=", signature[:len(signature)-1], signature + "0", " " + signature, signature[7:], strings.ToUpper(signature), strings.Replace(signature, "sha256", "sha1", 1)} {
		require.False(t, repohost.Verify([]byte(secret), []byte(body), s), s)
	}
	require.False(t, repohost.Verify(nil, []byte(body), sign("", body)), "no secret, no trust")
}

// FuzzParseDelivery looks for a body that is taken and means nothing.
func FuzzParseDelivery(f *testing.F) {
	f.Add("push", []byte(`{"ref":"refs/heads/main","before":"`+strings.Repeat("0", 40)+`","after":"`+strings.Repeat("1", 40)+`","repository":{"id":1,"full_name":"acme/skills","pushed_at":1}}`))
	f.Add("installation", []byte(`{"action":"suspend","installation":{"id":7,"updated_at":"2026-11-15T12:00:00Z"}}`))
	f.Add("repository", []byte(`{"action":"renamed","changes":{"repository":{"name":{"from":"old"}}},"repository":{"id":1,"full_name":"acme/new"}}`))
	f.Add("repository", []byte(`{"action":"transferred","changes":{"owner":{"from":{"organization":{"login":"old"}}}},"repository":{"id":1,"full_name":"acme/new"}}`))
	f.Add("ping", []byte(`{}`))
	f.Fuzz(func(t *testing.T, event string, body []byte) {
		d, err := repohost.ParseDelivery(event, body)
		if d.Event != event {
			t.Fatalf("%q became %q", event, d.Event)
		}
		if err != nil {
			if errs.CodeOf(err) != errs.Invalid {
				t.Fatal(err)
			}
			return
		}
		again, err := repohost.ParseDelivery(event, bytes.Clone(body))
		require.NoError(t, err)
		require.Equal(t, d, again)
		kept, err := json.Marshal(d)
		require.NoError(t, err, "a delivery is kept as JSON")
		var back repohost.Delivery
		require.NoError(t, json.Unmarshal(kept, &back))
		require.True(t, d.At.Equal(back.At))
		switch event {
		case "push":
			require.True(t, strings.HasPrefix(d.Ref, "refs/"))
			require.True(t, (len(d.After) == 40 || len(d.After) == 64) && (len(d.Before) == 40 || len(d.Before) == 64))
			require.Equal(t, 1, strings.Count(d.RepoFullName, "/"))
			require.True(t, d.Deleted || strings.Trim(d.After, "0") != "")
		case "installation":
			require.Positive(t, d.InstallationID)
			require.False(t, d.InstallationDeleted && d.Suspended != nil)
		case "repository":
			require.GreaterOrEqual(t, d.RepoID, int64(0))
		default:
			require.Equal(t, repohost.Delivery{Event: event}, d)
		}
	})
}
