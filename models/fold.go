package models

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"skillgraph/internal/ids"
)

// FoldQuery is what queries that are equal but for case, spaces and punctuation have in common; empty when there is nothing else in one.
func FoldQuery(q string) string {
	words := strings.FieldsFunc(cases.Fold().String(norm.NFKC.String(q)), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsPunct(r) || unicode.IsControl(r)
	})
	return strings.Join(words, " ")
}

// suggestionID is the same for the same folded query of a source, for good.
func suggestionID(source ids.ID, folded string, shouldTrigger bool) ids.ID {
	data := slices.Concat(source[:], []byte{0})
	if shouldTrigger {
		data[len(source)] = 1
	}
	return ids.Derive(ids.Suggestion, append(data, folded...))
}

// trigrams are the groups of three letters in the words of a folded query, with two blanks before each word and one after it: as numbers, in order, each once.
func trigrams(folded string) []uint64 {
	out := make([]uint64, 0, len(folded)+8)
	for word := range strings.FieldsSeq(folded) {
		last := uint64(' ')<<21 | ' '
		for _, r := range word + " " {
			last = (last<<21 | uint64(r)) & (1<<63 - 1) // a letter has 21 bits
			out = append(out, last)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// similarity is the share of trigrams that two queries have in common, 0 to 1.
func similarity(a, b []uint64) float64 {
	common := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] < b[j]:
			i++
		case a[i] > b[j]:
			j++
		default:
			i, j, common = i+1, j+1, common+1
		}
	}
	if common == 0 {
		return 0
	}
	return float64(common) / float64(len(a)+len(b)-common)
}

// Two queries share a band when three random choices of their trigrams agree, which for a similarity of s happens with probability s³: of 40
// bands, queries as similar as 0.5 share one 99.5 times of 100, and unrelated ones hardly ever. An ordinary index over the bands thus finds similar
// queries among very many, without an extension of PostgreSQL that may not be installed.
const (
	bandCount = 40
	bandRows  = 3
)

// similarityBands are the bands of a folded query; those of different sources have none in common.
func similarityBands(source ids.ID, folded string) []int32 {
	var least [bandCount * bandRows]uint64
	for i := range least {
		least[i] = math.MaxUint64
	}
	for _, t := range trigrams(folded) {
		for i := range least {
			least[i] = min(least[i], mix(t+uint64(i+1)*0x9e3779b97f4a7c15))
		}
	}
	seed := binary.BigEndian.Uint64(source[8:]) ^ binary.BigEndian.Uint64(source[:8])
	out := make([]int32, bandCount)
	for b := range out {
		h := mix(seed + uint64(b))
		for _, v := range least[b*bandRows : (b+1)*bandRows] {
			h = mix(h ^ v)
		}
		out[b] = int32(h >> 32) //nolint:gosec // any 32 bits will do
	}
	return out
}

// mix spreads the bits of a number, as splitmix64 does.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
