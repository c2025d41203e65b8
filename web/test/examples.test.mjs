// Every example of the playground must be valid against the schema, its variables included.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { buildSchema, getVariableValues, parse, validate } from 'graphql';

const schema = buildSchema(read('../../schema.graphqls'));
const folder = '../src/playground/examples/';
const names = readdirSync(url(folder)).filter((name) => name.endsWith('.graphql'));

assert.ok(names.length >= 5, 'the examples are gone');

for (const name of names) {
  test(name, () => {
    const source = read(folder + name);
    assert.match(source, /^# \S/, 'the first line is the title in the menu');
    const document = parse(source);
    assert.deepEqual(validate(schema, document), []);

    const variables = folder + name.replace('.graphql', '.json');
    const given = existsSync(url(variables)) ? JSON.parse(read(variables)) : {};
    const declared = document.definitions[0].variableDefinitions;
    assert.deepEqual(Object.keys(given), declared.map((definition) => definition.variable.name.value));
    assert.equal(getVariableValues(schema, declared, given).errors, undefined);
  });
}

function url(path) {
  return new URL(path, import.meta.url);
}

function read(path) {
  return readFileSync(url(path), 'utf8');
}
