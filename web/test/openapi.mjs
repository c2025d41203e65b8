// The description at /openapi.json must be valid OpenAPI, by somebody else's opinion.
import assert from 'node:assert/strict';
import { Validator } from '@seriousme/openapi-schema-validator';

const description = await (await fetch(`${process.env.SKILLGRAPH_URL}/openapi.json`)).json();
const validator = new Validator();
const { valid, errors } = await validator.validate(description);
assert.ok(valid, JSON.stringify(errors, null, 2));
assert.equal(validator.version, '3.1');
const operations = Object.values(description.paths).flatMap(Object.values);
const names = new Set(operations.map((operation) => operation.operationId));
assert.equal(names.size, operations.length, 'every operation has a name of its own');
console.log(`${operations.length} operations, ${Object.keys(description.components.schemas).length} schemas`);
