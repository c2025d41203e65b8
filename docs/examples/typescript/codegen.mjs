// Writes review.gen.ts: the operations of review.graphql with their types, by the schema.
import { codegen } from '@graphql-codegen/core';
import * as documents from '@graphql-codegen/typed-document-node';
import * as types from '@graphql-codegen/typescript';
import * as operations from '@graphql-codegen/typescript-operations';
import { buildSchema, parse } from 'graphql';
import { readFileSync, writeFileSync } from 'node:fs';

const read = (path) => readFileSync(new URL(path, import.meta.url), 'utf8');

const text = await codegen({
  filename: 'review.gen.ts',
  schemaAst: buildSchema(read('../../../schema.graphqls')), // a running server has it at /schema.graphql
  documents: [{ location: 'review.graphql', document: parse(read('review.graphql'), { noLocation: true }) }],
  config: { onlyOperationTypes: true, enumsAsTypes: true, skipTypename: true, useTypeImports: true, scalars: { Time: 'string' } },
  pluginMap: { types, operations, documents },
  plugins: [{ types: {} }, { operations: {} }, { documents: {} }],
});
writeFileSync(new URL('review.gen.ts', import.meta.url), text);
