import { lookupTable } from '../../base/lookup.ts';
import type { ResourceDefinition, ResourceVerb } from '../model/resource-definition.ts';
import { named } from './definition-names.ts';
import type { Kinds } from './definitions.ts';
import { listNameOf } from './definitions.ts';
import type { GroupVersionKind, HttpMethod, Operation, Parameter } from './open-api-types.ts';
import {
  createParameters,
  deleteParameters,
  listParameters,
  nameParameter,
  namespaceParameter,
  patchParameters,
  uninitializedParameter,
  pathParameter,
  pretty,
  updateParameters,
} from './parameters.ts';

const allVerbs: readonly ResourceVerb[] = [
  'get',
  'list',
  'watch',
  'create',
  'update',
  'patch',
  'delete',
  'deletecollection',
];
const CONNECT_METHODS: Readonly<Record<string, HttpMethod>> = lookupTable({
  get: 'get',
  create: 'post',
  update: 'put',
  patch: 'patch',
  delete: 'delete',
});

/** Returns the prefix of all paths of a group and version: `/api/v1`, `/apis/apps/v1`. */
export function basePath({ group, version }: { readonly group: string; readonly version: string }): string {
  return group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
}

/** Every method of every path that a resource has. */
export function operationsOf(definition: ResourceDefinition, kinds: Kinds): Operation[] {
  const maker = new OperationMaker(definition, kinds);
  return [...maker.collection(), ...maker.item(), ...maker.subresources(), ...maker.connects()];
}

type Draft = Pick<Operation, 'method' | 'action' | 'description' | 'query' | 'answers'> &
  Partial<Pick<Operation, 'body' | 'streams' | 'kind'>> & { readonly id: string };

class OperationMaker {
  readonly #definition: ResourceDefinition;
  readonly #kinds: Kinds;
  readonly #name: string;
  readonly #kind: GroupVersionKind;
  readonly #token: string;
  readonly #tag: string;
  readonly #collection: string;
  readonly #scope: readonly Parameter[];

  constructor(definition: ResourceDefinition, kinds: Kinds) {
    const { group, version, kind, plural, namespaced } = definition.type;
    const groupWords = group === '' ? ['core'] : group.replace(/\.k8s\.io$/, '').split('.');
    this.#definition = definition;
    this.#kinds = kinds;
    this.#name = kinds.nameOf(definition);
    this.#kind = { group, kind, version };
    this.#token = [...groupWords, version].map(capital).join('');
    this.#tag = `${groupWords.map((word, i) => (i === 0 ? word : capital(word))).join('')}_${version}`;
    this.#collection = `${basePath(definition.type)}${namespaced ? '/namespaces/{namespace}' : ''}/${plural}`;
    this.#scope = namespaced ? [namespaceParameter] : [];
  }

  collection(): Operation[] {
    const { type, review } = this.#definition;
    const { kind, plural, namespaced } = type;
    const list = {
      method: 'get',
      action: 'list',
      query: this.#withUninitialized(listParameters),
      answers: [{ code: 200, definition: listNameOf(this.#name) }],
      streams: true,
      description: `list or watch objects of kind ${kind}`,
    } as const;
    const drafts: Draft[] = [];
    if (this.#has('list') && review === undefined) drafts.push({ ...list, id: this.#id('list') });
    if (this.#has('create'))
      drafts.push({
        method: 'post',
        action: 'post',
        id: this.#id('create'),
        description: `create ${article(kind)}`,
        query: this.#withUninitialized(createParameters),
        body: { definition: this.#name, required: true },
        answers: this.#answers(200, 201, 202),
      });
    if (this.#has('deletecollection') && review === undefined) {
      drafts.push({
        method: 'delete',
        action: 'deletecollection',
        id: `delete${this.#token}Collection${this.#scopeToken}${kind}`,
        description: `delete collection of ${kind}`,
        query: [...deleteParameters, ...listParameters],
        body: { definition: named.deleteOptions, required: false },
        answers: [{ code: 200, definition: named.status }],
      });
    }
    const own = drafts.map((draft) => this.#operation(this.#collection, this.#scope, draft));
    if (!namespaced || !this.#has('list') || review !== undefined) return own;
    const everywhere: Draft = { ...list, id: `list${this.#token}${kind}ForAllNamespaces` };
    return [...own, this.#operation(`${basePath(type)}/${plural}`, [], everywhere)];
  }

  item(): Operation[] {
    const { type, review } = this.#definition;
    if (review !== undefined) return [];
    const drafts = this.#objectDrafts(
      { definition: this.#name, suffix: '', what: type.kind },
      ['get', 'update', 'patch'].filter((verb) => this.#has(verb)),
    );
    if (this.#has('delete')) {
      drafts.push({
        method: 'delete',
        action: 'delete',
        id: this.#id('delete'),
        description: `delete ${article(type.kind)}`,
        query: deleteParameters,
        body: { definition: named.deleteOptions, required: false },
        answers:
          this.#definition.rules.returnsDeleted === true
            ? this.#answers(200, 202)
            : [200, 202].map((code) => ({ code, definition: named.status })),
      });
    }
    return drafts.map((draft) => this.#named('', draft));
  }

  subresources(): Operation[] {
    const { hasStatus, views = [], actions = [] } = this.#definition;
    const status = hasStatus === true ? [{ name: 'status', verbs: ['get', 'update', 'patch'] }] : [];
    const written = [...status, ...views].flatMap((view) => {
      const body = 'kind' in view && view.kind !== undefined ? view : undefined;
      const drafts = this.#objectDrafts(
        {
          definition: this.#kinds.nameOf(this.#definition, body),
          suffix: subresourceToken(view.name),
          what: `${view.name} of the specified ${this.#kind.kind}`,
        },
        view.verbs,
      );
      return drafts.map((draft) =>
        this.#named(
          view.name,
          body?.kind === undefined
            ? draft
            : { ...draft, kind: { group: body.kind.group, kind: body.kind.kind, version: body.kind.version } },
        ),
      );
    });
    const posted = actions.map((action) => {
      const definition = this.#kinds.nameOf(this.#definition, action);
      const { group, version, kind } = action.kind;
      const id = this.#id('create', subresourceToken(action.name));
      const answers = [200, 201, 202].map((code) => ({ code, definition }));
      return this.#named(action.name, {
        method: 'post',
        action: 'post',
        id,
        description: `create ${action.name} of ${article(this.#kind.kind)}`,
        query: createParameters,
        body: { definition, required: true },
        answers,
        kind: { group, kind, version },
      });
    });
    return [...written, ...posted];
  }

  connects(): Operation[] {
    return (this.#definition.connects ?? []).flatMap(({ name, verbs, kind }) => {
      const isLog = name === 'log';
      const gvk = { group: '', kind: isLog ? this.#kind.kind : kind, version: 'v1' };
      return verbs.flatMap((verb) => {
        const method = CONNECT_METHODS[verb];
        if (method === undefined) return [];
        const id = isLog
          ? this.#id('read', 'Log')
          : `connect${this.#token}${capital(method)}${this.#scopeToken}${this.#kind.kind}${subresourceToken(name)}`;
        const description = isLog
          ? `read log of the specified ${this.#kind.kind}`
          : `connect ${method.toUpperCase()} requests to ${name} of ${this.#kind.kind}`;
        const draft: Draft = {
          method,
          action: isLog ? 'get' : 'connect',
          id,
          description,
          query: [],
          answers: [{ code: 200, definition: undefined }],
          kind: gvk,
        };
        const direct = this.#named(name, draft);
        if (name !== 'proxy') return [direct];
        const deeper: Operation = {
          ...direct,
          path: `${direct.path}/{path}`,
          id: `${id}WithPath`,
          pathParameters: [...direct.pathParameters, pathParameter],
        };
        return [direct, deeper];
      });
    });
  }

  #objectDrafts(
    { definition, suffix, what }: { definition: string; suffix: string; what: string },
    verbs: readonly string[],
  ): Draft[] {
    const answers = (...codes: number[]): Operation['answers'] => codes.map((code) => ({ code, definition }));
    const drafts: Readonly<Record<string, Draft>> = {
      get: {
        method: 'get',
        action: 'get',
        id: this.#id('read', suffix),
        description: `read the specified ${what}`,
        query: [],
        answers: answers(200),
      },
      update: {
        method: 'put',
        action: 'put',
        id: this.#id('replace', suffix),
        description: `replace the specified ${what}`,
        query: updateParameters,
        body: { definition, required: true },
        answers: answers(200, 201),
      },
      patch: {
        method: 'patch',
        action: 'patch',
        id: this.#id('patch', suffix),
        description: `partially update the specified ${what}`,
        query: patchParameters,
        body: { definition: named.patch, required: true, patch: true },
        answers: answers(200, 201),
      },
    };
    return verbs.flatMap((verb) => drafts[verb] ?? []);
  }

  #named(subresource: string, draft: Draft): Operation {
    const path = `${this.#collection}/{name}${subresource === '' ? '' : `/${subresource}`}`;
    return this.#operation(path, [nameParameter(this.#kind.kind), ...this.#scope], draft);
  }

  #withUninitialized(parameters: readonly Parameter[]): readonly Parameter[] {
    return this.#definition.isInitialized === true ? [...parameters, uninitializedParameter] : parameters;
  }

  #operation(path: string, pathParameters: readonly Parameter[], draft: Draft): Operation {
    return {
      kind: this.#kind,
      ...draft,
      path,
      pathParameters: [...pathParameters, ...(draft.action === 'connect' ? [] : [pretty])],
      tag: this.#tag,
    };
  }

  #id(verb: string, suffix = ''): string {
    return `${verb}${this.#token}${this.#scopeToken}${this.#kind.kind}${suffix}`;
  }

  get #scopeToken(): string {
    return this.#definition.type.namespaced ? 'Namespaced' : '';
  }

  #answers(...codes: number[]): Operation['answers'] {
    return codes.map((code) => ({ code, definition: this.#name }));
  }

  #has(verb: string): boolean {
    return (this.#definition.verbs ?? allVerbs).some((known) => known === verb);
  }
}

function capital(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}

function article(kind: string): string {
  return `${/^[AEIOU]/.test(kind) ? 'an' : 'a'} ${kind}`;
}

const subresourceToken = capital;
