// The OpenAPI document as the fuzz test reads it: the operations with their parameters, bodies and answers. The
// document is the reference; every deviation of the server is a finding.
import { Compile } from 'typebox/schema';

export type JsonSchema = {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly items?: JsonSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly example?: unknown;
};

export type Parameter = {
  readonly in: 'query' | 'path' | 'header';
  readonly name: string;
  readonly schema: JsonSchema;
};

type Content = Readonly<Record<string, { readonly schema: JsonSchema }>>;

export type Operation = {
  /** `post /v1/sms` */
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly body: JsonSchema | null;
  /** `files`: other content types of the same answer, which have no schema. */
  readonly answers: ReadonlyMap<
    number,
    { readonly contentType: string; readonly files: readonly string[]; readonly fits: Fits }
  >;
  readonly takesBody: Fits;
};

/** Null when the value fits; else what is wrong. */
export type Fits = (value: unknown) => string | null;

type RawOperation = {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
};
export type OpenApi = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, RawOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
};

export function operationsOf(document: OpenApi): readonly Operation[] {
  const jsonSchema = (content: Content | undefined) => Object.entries(content ?? {})[0];
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, raw]): Operation => {
      const body = jsonSchema(raw.requestBody?.content)?.[1].schema ?? null;
      const answers = Object.entries(raw.responses).map(([status, { content }]) => {
        const [contentType, { schema }] = jsonSchema(content) ?? ['', { schema: {} }];
        const files = Object.keys(content ?? {}).filter((type) => type !== contentType);
        return [Number(status), { contentType, files, fits: fitsOf(document, schema) }] as const;
      });
      return {
        name: `${method} ${path}`,
        method: method.toUpperCase(),
        path,
        parameters: raw.parameters ?? [],
        body,
        answers: new Map(answers),
        takesBody: fitsOf(document, body ?? {}),
      };
    }),
  );
}

export function fitsOf(document: OpenApi, schema: JsonSchema): Fits {
  const validator = Compile({ ...schema, components: document.components } as object);
  return (value) => {
    if (validator.Check(value)) return null;
    const [, errors] = validator.Errors(value);
    return (
      errors
        .map(({ instancePath, message }) => `${instancePath || '/'}: ${message}`)
        .slice(0, 3)
        .join('; ') || 'does not fit'
    );
  };
}

export function resolved(document: OpenApi, schema: JsonSchema): JsonSchema {
  const name = schema.$ref?.replace('#/components/schemas/', '');
  return name === undefined ? schema : (document.components.schemas[name] ?? {});
}
