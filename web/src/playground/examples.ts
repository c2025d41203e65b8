export interface Example {
  title: string;
  query: string;
  variables: string;
}

// Vite reads these two calls at build time: only literals work.
const queries = import.meta.glob<string>('./examples/*.graphql', { eager: true, query: '?raw', import: 'default' });
const variables = import.meta.glob<string>('./examples/*.json', { eager: true, query: '?raw', import: 'default' });

/** Every examples/*.graphql in order of name; its first line is its title, the .json beside it its variables. */
export const examples: Example[] = Object.entries(queries).map(([path, query]) => ({
  title: query.slice(0, query.indexOf('\n')).replace(/^# /, ''),
  query,
  variables: variables[path.replace('.graphql', '.json')] ?? '',
}));
