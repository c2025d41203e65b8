// The dashboard's views with the demo data: where they are, and a text that only their data can put there.
import { ask } from './harness.mjs';

const { skills, sources, suites, entries } = await ask(`{
  skills(first: 50) { nodes { id name } }
  sources(first: 50) { nodes { id label suites(first: 1) { totalCount } } }
  suites(first: 50, filter: {nameContains: "PDF"}) { nodes { id name runs(first: 3) { nodes { id } } revisions(first: 3) { nodes { id } } } }
  entries(first: 50) { nodes { id name } }
}`);

const named = (list, name) => list.nodes.find((item) => (item.name ?? item.label) === name);

export const skill = named(skills, 'sql-review');
export const source = named(sources, 'PDF forms');
export const suite = suites.nodes.find((s) => s.runs.nodes.length > 1);
export const entry = named(entries, 'pdf-forms');
const [head, run] = suite.runs.nodes;
const revised = suites.nodes.find((s) => s.revisions.nodes.length > 1);
const [to, from] = revised.revisions.nodes;

export const views = [
  { name: 'overview', path: '', text: 'sql-review' },
  { name: 'skills', path: 'skills?sort=NAME', text: 'unit-conversion' },
  { name: 'skill', path: `skills/${skill.id}`, text: 'It would have fired', chart: true },
  { name: 'sources', path: 'sources', text: 'PDF forms' },
  { name: 'source', path: `sources/${source.id}`, text: 'Why it was suggested' },
  { name: 'suites', path: 'suites?q=PDF+forms', text: suite.name },
  { name: 'suite', path: `suites/${suite.id}`, text: 'with release-1.2' },
  { name: 'revision', path: `suites/${revised.id}?from=${from.id}&to=${to.id}`, text: 'From revision' },
  { name: 'compare', path: `compare?base=${run.id}&head=${head.id}`, text: 'not compared' },
  { name: 'registry', path: 'registry', text: 'pdf-forms' },
  { name: 'entry', path: `registry/${entry.id}?version=1.2.0`, text: 'Never sign twice' },
  { name: 'file', path: `registry/${entry.id}?version=1.2.0&file=SKILL.md`, text: 'Back to the changes' },
  { name: 'codehost', path: 'codehost', text: 'Connect a repository' },
  { name: 'community', path: 'community', text: 'below threshold' },
  { name: 'search', path: 'search?q=pdf+forms', text: 'PDF forms: evals' },
  { name: 'settings', path: 'settings', text: 'grace@example.com' },
];
