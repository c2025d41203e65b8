// Package rest is the REST face: it turns HTTP requests into stored GraphQL operations and their answers back into
// HTTP. It knows no noun. A route is a file below ops, such as
//
//	query GetSuite($id: ID!) @rest(method: GET, path: "/api/v1/eval-suites/{id}") {
//	  suite(id: $id) { _etag: revision id name source_kind: sourceKind }
//	}
//
// Variables are filled by name: from the path; from the request header that @header names; from the query string of a
// GET or DELETE, or the body of a POST or PATCH; one with @body is the body itself. Their declared types decide what is accepted: keys are spelled
// snake_case, enum values in lower case (or as @wire says), JSON is passed on as it came. Keys that no variable
// declares are ignored.
//
// The answer is the body. @rest(unwrap:) takes a part of it, @flat shows what is inside an object in its place, and three
// aliases are not shown as keys: _etag is the entity tag, _truncated says in a header that a list was cut off, and _created
// says whether the thing was new: when it was there already, the status is 200.
// Errors are shown in the two documented shapes, with the status that belongs to their code.
//
// Fragments that the operations of a folder share are in its fragments.graphql.
//
// All documents are checked against the schema when the server starts.
package rest
