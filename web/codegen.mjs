// Writes the types of the server's schema, and beside every .graphql file of the dashboard its typed documents.
import { codegen } from '@graphql-codegen/core';
import * as documents from '@graphql-codegen/typed-document-node';
import * as types from '@graphql-codegen/typescript';
import * as operations from '@graphql-codegen/typescript-operations';
import { buildSchema, parse } from 'graphql';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

const here = import.meta.dirname;
const folder = join(here, 'src/dashboard');
const schemaAst = buildSchema(readFileSync(join(here, '../schema.graphqls'), 'utf8'));
const config = {
  enumsAsTypes: true,
  onlyOperationTypes: true,
  skipTypename: true,
  useTypeImports: true,
  scalars: { Time: 'string', Date: 'string', Int64: 'number', JSON: 'any', Upload: 'never' },
};

await write('schema.gen.ts', { types: {} }, []);

for (const name of readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.graphql'))) {
  const document = parse(readFileSync(join(folder, name), 'utf8'), { noLocation: true });
  const schema = join(relative(dirname(name), '.') || '.', 'schema.gen');
  await write(
    name.replace(/\.graphql$/, '.gen.ts'),
    { operations: { namespacedImportName: 'Types' }, documents: {} },
    [{ location: name, document }],
    `import type * as Types from '${schema.startsWith('.') ? schema : './' + schema}';\n`,
  );
}

async function write(filename, plugins, docs, head = '') {
  const text = await codegen({
    filename,
    schemaAst,
    documents: docs,
    config,
    pluginMap: { types, operations, documents },
    plugins: Object.entries(plugins).map(([name, own]) => ({ [name]: own })),
  });
  writeFileSync(join(folder, filename), head + text);
}
