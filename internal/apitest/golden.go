package apitest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"skillgraph/internal/repohost/gitrepo"
)

// Golden runs every scenario in testdata/*.txtar: requests and their exact answers, one after the other.
//
//	-- request --
//	POST /api/v1/eval-suites
//	Key: member
//
//	{"name": "…"}
//	-- response 201 --
//	{"suite": {"id": "<id:1>"}}
//
// A section graphql holds an operation in place of a request (a line "# key: member" chooses who asks), and a section
// variables its variables. Ids are numbered in the order in which they appear; <id:1> in a request is that id again.
// A section "commit acme/skills" holds a JSON object of paths and contents, and makes them the head of main in that repository,
// which is <head:acme/skills> in requests. A section "tag acme/skills v1.0.0" tags the head. A header <signature> signs the body
// as the code host does. A section suggest does what the jobs do that make suggestions, and a section work what those do that
// act upon deliveries and tell the code host.
// <owner> and the other people are users' ids, <owner:key> their keys' ids, <org:acme> an organization's. Times are <time>. Without a Key, the owner asks; "Key: none" sends none. UPDATE=1 rewrites the answers.
//
// A form has a part in each line. Sections named folder/path are files, and "@folder" is the archive of a folder:
//
//	-- pdf-1/SKILL.md --
//	…
//	-- request --
//	POST /api/v1/registry
//	Content-Type: multipart/form-data
//
//	metadata: {"name": "pdf", "version": "1.0.0", "content_hash": "<sha256:pdf-1>"}
//	archive: @pdf-1
//
// <archive:pdf-1> in an answer is those bytes, <server> the server's address, and <signed> what signs a link. It may be followed:
// GET /downloads/<id:1>?<signed>.
func Golden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			runScenario(t, file)
		})
	}
}

func runScenario(t *testing.T, file string) {
	scenes, err := txtar.ParseFile(file)
	require.NoError(t, err)
	s := &scenario{server: New(t), names: map[string]string{}, ids: map[string]string{}, archives: map[string][]byte{}, signed: map[string]string{}}
	s.pack(t, scenes)
	for name, v := range s.server.Viewers {
		s.know("<"+name+">", v.UserID.String())
		s.know("<"+name+":key>", v.KeyID.String())
	}
	for name, id := range s.server.Orgs {
		s.know("<org:"+name+">", id.String())
	}
	update := os.Getenv("UPDATE") != ""
	for i := 0; i < len(scenes.Files); i++ {
		var vars []byte
		ask := scenes.Files[i]
		if s.happens(t, ask) {
			continue
		}
		if i+1 < len(scenes.Files) && scenes.Files[i+1].Name == "variables" {
			i++
			vars = scenes.Files[i].Data
		}
		got := s.ask(t, ask, vars)
		i++
		require.Less(t, i, len(scenes.Files), "%s: a request without a response", file)
		want := &scenes.Files[i]
		require.True(t, strings.HasPrefix(want.Name, "response"), "%s: %s where a response belongs", file, want.Name)
		name, body := fmt.Sprintf("response %d", got.Status), s.show(got)
		if update {
			want.Name, want.Data = name, []byte(body)
			continue
		}
		require.Equal(t, want.Name+"\n"+strings.TrimRight(string(want.Data), "\n"), name+"\n"+strings.TrimRight(body, "\n"), "%s after\n%s", file, ask.Data)
	}
	if update {
		require.NoError(t, os.WriteFile(file, txtar.Format(scenes), 0o600))
	}
}

type scenario struct {
	server *Server
	names  map[string]string // id -> its name in the file
	ids    map[string]string // and back
	count  int

	archives map[string][]byte // by the names of their folders
	signed   map[string]string // links that were shown, by how
}

// happens does what a section says that is no question, and reports whether it was one of those.
func (s *scenario) happens(t *testing.T, f txtar.File) bool {
	words := strings.Fields(f.Name)
	switch words[0] {
	case "commit":
		var files map[string]string
		require.NoError(t, json.Unmarshal(f.Data, &files), f.Name)
		s.ids["<head:"+words[1]+">"] = s.server.Commit(t, words[1], gitrepo.Files(files))
	case "tag":
		require.NoError(t, gitrepo.Tag(filepath.Join(s.server.Repos, words[1]+".git"), words[2], s.ids["<head:"+words[1]+">"]))
	case "suggest":
		s.server.Suggest(t)
	case "work":
		s.server.Work(t)
	default:
		return strings.Contains(f.Name, "/") // a file of an archive
	}
	return true
}

func (s *scenario) know(name, id string) { s.names[id], s.ids[name] = name, id }

var keyLine = regexp.MustCompile(`(?m)^# key: (\w+)$`)

func (s *scenario) ask(t *testing.T, f txtar.File, vars []byte) Response {
	text := s.fill(string(f.Data))
	if f.Name == "graphql" {
		who := "owner"
		if m := keyLine.FindStringSubmatch(text); m != nil {
			who = m[1]
		}
		body := map[string]any{"query": text}
		if vars != nil {
			body["variables"] = json.RawMessage(s.fill(string(vars)))
		}
		raw, err := json.Marshal(body)
		require.NoError(t, err)
		return s.server.Do(t, who, http.MethodPost, "/graphql", nil, raw)
	}
	require.Equal(t, "request", f.Name)
	head, body, _ := strings.Cut(text, "\n\n")
	lines := strings.Split(strings.TrimSpace(head), "\n")
	method, path, _ := strings.Cut(lines[0], " ")
	who, header := "owner", http.Header{}
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ": ")
		if name == "Key" {
			who = value
		} else {
			header.Add(name, value)
		}
	}
	raw := []byte(strings.TrimSpace(body))
	for name, value := range header {
		if value[0] == "<signature>" {
			header.Set(name, Signature(raw))
		}
	}
	if header.Get("Content-Type") == "multipart/form-data" {
		header, raw = s.form(t, string(raw))
	}
	return s.server.Do(t, who, method, path, header, raw)
}

// fill puts the ids and links back that an earlier answer showed.
func (s *scenario) fill(text string) string {
	for name, id := range s.ids {
		text = strings.ReplaceAll(text, name, id)
	}
	return anyLink.ReplaceAllStringFunc(text, func(shown string) string { return s.signed[shown] })
}

var (
	anyUUID   = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	anyTime   = regexp.MustCompile(`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"`)
	anyCursor = regexp.MustCompile(`("(?:cursor|startCursor|endCursor)": )"[^"]+"`)
	anyKey    = regexp.MustCompile(`(?:sg_live|whsec)_[A-Za-z0-9]+`)
	anyPerson = regexp.MustCompile(`("contributor_?[hH]ash": )"[0-9a-f]{64}"`) // every server has a secret of its own
	anySigned = regexp.MustCompile(`(/downloads/[0-9a-f-]+\?)(expires=[0-9]+&signature=[0-9a-f]+)`)
	anyStatus = regexp.MustCompile(`(skillgraph/publish/)[0-9a-f]{8}"`) // it begins like the id of the connection
	anyLink   = regexp.MustCompile(`/downloads/[0-9a-f-]+\?<signed>`)
)

// shown are the headers that are part of the contract.
var shown = []string{"Allow", "Content-Disposition", "ETag", "Location", "RateLimit-Limit", "RateLimit-Remaining", "Retry-After", "WWW-Authenticate", "X-Truncated"}

// show is an answer as it stands in a file.
func (s *scenario) show(r Response) string {
	var b strings.Builder
	for _, name := range shown {
		if v := r.Header.Get(name); v != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, v)
		}
	}
	if b.Len() > 0 && len(r.Body) > 0 {
		b.WriteByte('\n')
	}
	b.WriteString(s.body(r.Body))
	text := anySigned.ReplaceAllStringFunc(b.String(), func(link string) string {
		shown := anySigned.ReplaceAllString(link, "$1<signed>")
		s.signed[shown] = link
		return shown
	})
	for name := range s.archives {
		text = strings.ReplaceAll(text, s.ids["<sha256:"+name+">"], "<sha256:"+name+">")
	}
	text = anyUUID.ReplaceAllStringFunc(text, func(id string) string {
		if s.names[id] == "" {
			s.count++
			s.know("<id:"+strconv.Itoa(s.count)+">", id)
		}
		return s.names[id]
	})
	text = strings.ReplaceAll(text, s.server.URL, "<server>")
	text = anyTime.ReplaceAllString(text, `"<time>"`)
	text = anyStatus.ReplaceAllString(text, `$1<8>"`)
	text = anyCursor.ReplaceAllString(text, `$1"<cursor>"`)
	text = anyKey.ReplaceAllString(text, "<key>")
	text = anyPerson.ReplaceAllString(text, `$1"<hash>"`)
	text = strings.ReplaceAll(text, r.Header.Get("X-Request-Id"), "<request>")
	return strings.TrimSuffix(text, "\n") + "\n"
}

// body is JSON on several lines, the name of an archive, or what it is.
func (s *scenario) body(raw []byte) string {
	for name, packed := range s.archives {
		if bytes.Equal(raw, packed) {
			return "<archive:" + name + ">"
		}
	}
	var indented bytes.Buffer
	if json.Indent(&indented, raw, "", "  ") != nil {
		return string(raw)
	}
	return strings.TrimSpace(indented.String())
}

// pack makes the archives of a file's folders.
func (s *scenario) pack(t *testing.T, from *txtar.Archive) {
	folders := map[string]map[string]string{}
	for _, f := range from.Files {
		if folder, path, ok := strings.Cut(f.Name, "/"); ok {
			if folders[folder] == nil {
				folders[folder] = map[string]string{}
			}
			folders[folder][path] = string(f.Data)
		}
	}
	for folder, files := range folders {
		s.archives[folder] = Archive(t, files)
		s.know("<sha256:"+folder+">", fmt.Sprintf("%x", sha256.Sum256(s.archives[folder])))
	}
}

// form is the body that the lines of a form stand for, and its header.
func (s *scenario) form(t *testing.T, text string) (http.Header, []byte) {
	var parts []Part
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		p := Part{Name: name, Content: []byte(value)}
		if folder, ok := strings.CutPrefix(value, "@"); ok {
			require.Contains(t, s.archives, folder)
			p.File, p.Content = folder+".tar.gz", s.archives[folder]
		}
		parts = append(parts, p)
	}
	return Form(t, parts...)
}
