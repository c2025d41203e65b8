package models

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
)

const (
	maxSearch      = 200 // characters of a query
	maxSearchWords = 8
)

// SearchArgs is what somebody looks for.
type SearchArgs struct {
	Query string
	Types []SearchType // nil: everything that the caller may read
	First int
}

// Validate bounds a search.
func (a SearchArgs) Validate() error {
	switch {
	case a.First < 1 || a.First > maxPage:
		return errs.At("first").Because("must be between 1 and %d", maxPage)
	case utf8.RuneCountInString(a.Query) > maxSearch:
		return errs.At("query").Because("must be at most %d characters long", maxSearch)
	case !utf8.ValidString(a.Query) || strings.ContainsRune(a.Query, 0):
		return errs.At("query").Because("must be UTF-8, without zero bytes")
	}
	return nil
}

// Searchable are the types among those asked for that the viewer may read.
func (a SearchArgs) Searchable(v *Viewer) []SearchType {
	out := []SearchType{}
	for _, t := range AllSearchType {
		hidden := t == SearchTypeConnection && (!v.Plan.AtLeast(PlanPro) || !v.Can(PermissionRegistryPush)) // as Query.repoLinks
		if !hidden && (a.Types == nil || slices.Contains(a.Types, t)) {
			out = append(out, t)
		}
	}
	return out
}

// SearchText is a text by which an object can be found.
type SearchText struct {
	ObjectID ids.ID     `bun:"object_id"`
	Type     SearchType `bun:"type"`
	Text     string     `bun:"text"`
}

// SearchHit is an object that was found.
type SearchHit struct {
	SearchText
	Score     float64
	Match     SearchMatch
	Highlight []*HighlightPart
}

// piece is a part of a text: a word, folded, or what is between words.
type piece struct {
	text string
	word []rune // nil: no word
}

// isWordRune: letters and digits of any script, and what hangs on them, and symbols such as emoji; the rest separates words. The function search_words in the
// database cuts texts at the separators of ASCII and the commonest others.
func isWordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r > unicode.MaxASCII && unicode.IsSymbol(r)
}

// pieces cuts a text.
func pieces(s string) []piece {
	var out []piece
	for len(s) > 0 {
		first, _ := utf8.DecodeRuneInString(s)
		end := strings.IndexFunc(s, func(r rune) bool { return isWordRune(r) != isWordRune(first) })
		if end < 0 {
			end = len(s)
		}
		p := piece{text: s[:end]}
		if isWordRune(first) {
			p.word = foldWord(p.text)
		}
		out, s = append(out, p), s[end:]
	}
	return out
}

// foldWord is what spellings of a word have in common that differ in case and accents alone.
func foldWord(s string) []rune {
	out := []rune{}
	for _, r := range norm.NFKD.String(s) {
		if isWordRune(r) && !unicode.IsMark(r) {
			out = append(out, unicode.ToLower(r))
		}
	}
	return out
}

func wordsOf(all []piece) (words [][]rune) {
	for _, p := range all {
		if len(p.word) > 0 {
			words = append(words, p.word)
		}
	}
	return words
}

// SearchWords are the folded words of a query that count; none when there is nothing to look for.
func SearchWords(query string) []string {
	words := wordsOf(pieces(query))
	out := make([]string, min(len(words), maxSearchWords))
	for i := range out {
		out[i] = string(words[i])
	}
	return out
}

// RankHits holds candidates against a query, and returns the best, each object once.
func RankHits(query string, candidates []*SearchText, first int) []*SearchHit {
	words := make([][]rune, 0, maxSearchWords)
	for _, w := range SearchWords(query) {
		words = append(words, []rune(w))
	}
	best := map[ids.ID]*SearchHit{}
	for _, c := range candidates {
		hit := matchText(words, c)
		if hit != nil && (best[c.ObjectID] == nil || best[c.ObjectID].Score < hit.Score) {
			best[c.ObjectID] = hit
		}
	}
	out := make([]*SearchHit, 0, len(best))
	for _, hit := range best {
		out = append(out, hit)
	}
	slices.SortFunc(out, func(a, b *SearchHit) int {
		return cmp.Or(
			cmp.Compare(b.Score, a.Score), cmp.Compare(slices.Index(AllSearchType, a.Type), slices.Index(AllSearchType, b.Type)),
			cmp.Compare(a.Text, b.Text), slices.Compare(a.ObjectID[:], b.ObjectID[:]))
	})
	return out[:min(first, len(out))]
}

// The scores of each way to match: from the first number up to the second, by how much of the text is what was looked for.
var searchScores = map[SearchMatch][2]float64{
	SearchMatchExact: {1, 1}, SearchMatchPrefix: {0.8, 0.95}, SearchMatchWord: {0.5, 0.75}, SearchMatchFuzzy: {0.1, 0.45},
}

// matchText says how a text matches, or nil.
func matchText(words [][]rune, c *SearchText) *SearchHit {
	all := pieces(c.Text)
	has := wordsOf(all)
	hit := &SearchHit{SearchText: *c}
	marked, mistakes := map[int]bool{}, 0
	whole, sought := slices.Concat(has...), slices.Concat(words...)
	switch joined := len(words) > 0 && hasPrefix(whole, sought); {
	case joined && len(whole) == len(sought):
		hit.Match = SearchMatchExact
		markPrefix(has, len(sought), marked)
	case joined:
		hit.Match = SearchMatchPrefix
		markPrefix(has, len(sought), marked)
	default:
		found := false
		if mistakes, found = markWords(words, has, marked); !found {
			clear(marked)
			if mistakes, found = nearPrefix(sought, whole); !found { // such as "formsPDF" for "forms-pdf", misspelled
				return nil
			}
			markPrefix(has, len(whole), marked)
		}
		hit.Match = SearchMatchFuzzy
		if mistakes == 0 {
			hit.Match = SearchMatchWord
		}
	}
	bounds := searchScores[hit.Match]
	covered := float64(min(len(sought), len(whole))) / float64(len(whole))
	hit.Score = bounds[0] + (bounds[1]-bounds[0])*covered/float64(1+mistakes)
	hit.Highlight = highlight(all, marked)
	return hit
}

func hasPrefix(word, prefix []rune) bool {
	return len(prefix) <= len(word) && slices.Equal(word[:len(prefix)], prefix)
}

// markPrefix marks the words that the first n letters reach into.
func markPrefix(has [][]rune, n int, marked map[int]bool) {
	for i := 0; i < len(has) && n > 0; i++ {
		marked[i], n = true, n-len(has[i])
	}
}

// markWords finds each word that is looked for, in the best place for it, and counts the mistakes.
func markWords(words, has [][]rune, marked map[int]bool) (mistakes int, found bool) {
	for _, w := range words {
		place, least := -1, 0
		for i, h := range has {
			n, ok := nearPrefix(w, h)
			if better := place < 0 || n < least || n == least && marked[place] && !marked[i]; ok && better {
				place, least = i, n
			}
		}
		if place < 0 {
			return 0, false
		}
		marked[place] = true
		mistakes += least
	}
	return mistakes, len(words) > 0
}

// nearPrefix counts the mistakes with which somebody who types a word has typed sought, or fails when these are too many: two are forgiven in words of five
// letters or more, one in words of four.
func nearPrefix(sought, word []rune) (mistakes int, ok bool) {
	if hasPrefix(word, sought) {
		return 0, len(sought) > 0
	}
	all, part := slips(sought, word)
	if all <= forgiven(max(len(sought), len(word))) {
		return all, true
	}
	// Of a word that is still being typed the beginning counts, which must be long enough to say something.
	return part, part <= forgiven(len(sought))
}

func forgiven(letters int) int { return max(0, min(2, letters-3)) }

// slips are the mistakes between two words (all), and between one and the nearest beginning of the other (part): how many letters have to be left out of the
// longer before what is left is in both, in the same order. A letter that is wrong, missing, too many or in a wrong place is one.
func slips(a, b []rune) (all, part int) {
	all = len(a) + len(b)
	full := len(b)
	b = b[:min(full, len(a)+2)] // what is beyond makes no beginning nearer
	common := make([]int, len(b)+1)
	for i := range a {
		diagonal := 0
		for j := range b {
			above := common[j+1]
			if a[i] == b[j] {
				common[j+1] = diagonal + 1
			} else {
				common[j+1] = max(above, common[j])
			}
			diagonal = above
		}
	}
	part = len(a)
	for j, n := range common {
		part = min(part, max(len(a), j)-n)
	}
	if len(b) == full {
		all = max(len(a), full) - common[full]
	}
	return all, part
}

// highlight shows a text in parts.
func highlight(all []piece, marked map[int]bool) []*HighlightPart {
	out, word := []*HighlightPart{}, 0
	for _, p := range all {
		matched := false
		if len(p.word) > 0 {
			matched = marked[word]
			word++
		}
		if last := len(out) - 1; last >= 0 && out[last].Matched == matched {
			out[last].Text += p.text
			continue
		}
		out = append(out, &HighlightPart{Text: p.text, Matched: matched})
	}
	return out
}
