// What the page reads of an OpenAPI document.

export interface Schema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  description?: string;
  enum?: string[];
  const?: unknown;
  default?: unknown;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  contentMediaType?: string;
}

type Content = Record<string, { schema: Schema }>;

export interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema: Schema;
}

export interface Response {
  $ref?: string;
  description?: string;
  content?: Content;
}

export interface Operation {
  operationId: string;
  tags: string[];
  summary?: string;
  description?: string;
  security?: unknown[];
  parameters?: Parameter[];
  requestBody?: { required?: boolean; content: Content };
  responses: Record<string, Response>;
}

export interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema>; responses: Record<string, Response> };
}

/** The object that a reference means, or the object itself. */
export function resolve<T extends { $ref?: string }>(document: Document, value: T): T {
  if (!value.$ref) return value;
  const steps = value.$ref.replace('#/', '').split('/');
  const found = steps.reduce<unknown>((at, step) => (at as Record<string, unknown>)[step], document) as T;
  return { ...found, ...value, $ref: undefined };
}

/** A schema's type in a few words: `string or null`, `list of Suite`. */
export function typeName(schema: Schema): string {
  if (schema.$ref) return schema.$ref.split('/').at(-1) as string;
  if (schema.anyOf) return schema.anyOf.map(typeName).join(' or ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  const types = [schema.type ?? 'any JSON'].flat();
  return types.map((type) => (type === 'array' && schema.items ? `list of ${typeName(schema.items)}` : (schema.contentMediaType && 'file') || type)).join(' or ');
}

/** The object whose properties are worth showing below a schema: its own, its items', or the first alternative's. */
export function shape(document: Document, schema: Schema): Schema | undefined {
  const whole = resolve(document, schema);
  if (whole.properties) return whole;
  if (whole.items) return shape(document, whole.items);
  for (const one of whole.anyOf ?? []) {
    const found = shape(document, one);
    if (found) return found;
  }
  return whole.enum ? whole : undefined;
}
