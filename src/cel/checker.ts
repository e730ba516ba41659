import type { Call, Comprehension, Expr, ListLiteral, MapLiteral, Select, StructLiteral } from './ast.ts';
import { qualifiedName } from './ast.ts';
import type { Environment, Overload, StructType } from './environment.ts';
import type { CelType } from './types.ts';
import {
  boolType,
  bytesType,
  doubleType,
  dynType,
  errorType,
  formatType,
  intType,
  isDynamic,
  isOptional,
  listOf,
  mapOf,
  nullType,
  optionalOf,
  param,
  stringType,
  typeOf,
  uintType,
} from './types.ts';
import { isSameType, mostGeneral, TypeMapping } from './unify.ts';
import type { CelValue } from './values.ts';
import { Uint } from './values.ts';

/** What a name or a call in an expression refers to. */
export type Reference =
  | { readonly kind: 'variable'; readonly name: string }
  | { readonly kind: 'type'; readonly type: CelType }
  /** `isQualified`: what looks like the target of the call is part of the function's name. */
  | {
      readonly kind: 'function';
      readonly name: string;
      readonly overloads: readonly Overload[];
      readonly isQualified: boolean;
    }
  | { readonly kind: 'struct'; readonly struct: StructType };

export interface CheckedExpression {
  readonly expr: Expr;
  readonly type: CelType;
  /** By node id. */
  readonly types: ReadonlyMap<number, CelType>;
  readonly references: ReadonlyMap<number, Reference>;
}

export interface TypeFault {
  readonly message: string;
  readonly offset: number;
}

/** Computes the type of each node, and what its names refer to. */
export function checkExpression(expr: Expr, environment: Environment): CheckedExpression | readonly TypeFault[] {
  const checker = new Checker(environment);
  const type = checker.check(expr);
  if (checker.faults.length > 0) return checker.faults;
  const { mapping, references } = checker;
  const types = new Map<number, CelType>();
  for (const [id, found] of checker.types) types.set(id, mapping.resolve(found, true));
  return { expr, type: mapping.resolve(type, true), types, references };
}

interface Scope {
  readonly names: ReadonlyMap<string, CelType>;
  readonly outer: Scope | undefined;
}

class Checker {
  readonly types = new Map<number, CelType>();
  readonly references = new Map<number, Reference>();
  readonly mapping = new TypeMapping();
  readonly faults: TypeFault[] = [];
  readonly #environment: Environment;
  #scope: Scope | undefined;
  #freshCount = 0;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  check(expr: Expr): CelType {
    const type = this.#infer(expr);
    this.types.set(expr.id, type);
    return type;
  }

  #fault(offset: number, message: string): CelType {
    this.faults.push({ message, offset });
    return errorType;
  }

  #infer(expr: Expr): CelType {
    switch (expr.kind) {
      case 'literal':
        return literalType(expr.value);
      case 'ident':
        return (
          this.#named(expr.id, expr.name) ??
          this.#fault(expr.offset, `undeclared reference to '${expr.name}' (in container '')`)
        );
      case 'select':
        return this.#select(expr);
      case 'call':
        return this.#call(expr);
      case 'list':
        return this.#list(expr);
      case 'map':
        return this.#map(expr);
      case 'struct':
        return this.#struct(expr);
      case 'comprehension':
        return this.#comprehension(expr);
    }
  }

  #local(name: string): CelType | undefined {
    for (let scope = this.#scope; scope !== undefined; scope = scope.outer) {
      const type = scope.names.get(name);
      if (type !== undefined) return type;
    }
    return undefined;
  }

  #named(id: number, name: string): CelType | undefined {
    const local = this.#local(name);
    if (local !== undefined) {
      this.references.set(id, { kind: 'variable', name });
      return local;
    }
    const root = name.startsWith('.') ? name.slice(1) : name;
    const { variables, typeNames, structs } = this.#environment.parts;
    const variable = variables.get(root);
    if (variable !== undefined) {
      this.references.set(id, { kind: 'variable', name: `.${root}` });
      return variable;
    }
    const type = typeNames.get(root) ?? structs(root)?.type;
    if (type === undefined) return undefined;
    this.references.set(id, { kind: 'type', type });
    return typeOf(type);
  }

  #select(expr: Select): CelType {
    const qualified = expr.testOnly ? undefined : qualifiedName(expr);
    if (qualified !== undefined && this.#local(qualified.split('.', 1)[0] ?? '') === undefined) {
      const named = this.#named(expr.id, qualified);
      if (named !== undefined) return named;
    }
    const operand = this.mapping.resolve(this.check(expr.operand), false);
    const field = this.#field(expr.offset, operand, expr.field);
    return expr.testOnly ? boolType : field;
  }

  #field(offset: number, operand: CelType, field: string): CelType {
    if (isOptional(operand)) {
      const inner = this.mapping.resolve(operand.parameters[0] as CelType, false);
      return optionalOf(this.#field(offset, inner, field));
    }
    switch (operand.kind) {
      case 'dyn':
      case 'error':
      case 'param':
        return dynType;
      case 'map':
        return operand.value;
      case 'object':
        return operand.field(field) ?? this.#fault(offset, `undefined field '${field}'`);
      default:
        return this.#fault(offset, `type '${formatType(operand)}' does not support field selection`);
    }
  }

  #call(expr: Call): CelType {
    if (expr.name === '_?._') return this.#optionalSelect(expr);
    const { functions } = this.#environment.parts;
    const { target } = expr;
    const prefix = target === undefined ? undefined : qualifiedName(target);
    const qualified = prefix === undefined ? expr.name : `${prefix}.${expr.name}`;
    const asWhole =
      target === undefined || prefix !== undefined ? functions.get(qualified.replace(/^\./, '')) : undefined;
    if (asWhole !== undefined) {
      const args = expr.args.map((argument) => this.check(argument));
      return this.#resolve(expr, asWhole, args, { name: qualified, isMember: false });
    }
    const args = [
      ...(target === undefined ? [] : [this.check(target)]),
      ...expr.args.map((argument) => this.check(argument)),
    ];
    const overloads = functions.get(expr.name);
    if (overloads === undefined || target === undefined)
      return this.#fault(expr.offset, `undeclared reference to '${expr.name}' (in container '')`);
    return this.#resolve(expr, overloads, args, { name: expr.name, isMember: true });
  }

  #optionalSelect(expr: Call): CelType {
    const operand = this.mapping.resolve(this.check(expr.args[0] as Expr), false);
    const key = expr.args[1] as Expr;
    if (key.kind !== 'literal' || typeof key.value !== 'string')
      return this.#fault(expr.offset, `unsupported optional field selection: ${key.kind}`);
    this.types.set(key.id, stringType);
    const inner = isOptional(operand) ? this.mapping.resolve(operand.parameters[0] as CelType, false) : operand;
    const overloads = this.#environment.parts.functions.get('_?._') ?? [];
    this.references.set(expr.id, { kind: 'function', name: '_?._', overloads, isQualified: false });
    return optionalOf(this.#field(expr.offset, inner, key.value));
  }

  #resolve(
    expr: Call,
    overloads: readonly Overload[],
    args: readonly CelType[],
    { name, isMember }: { readonly name: string; readonly isMember: boolean },
  ): CelType {
    const fitting: Overload[] = [];
    let result: CelType | undefined;
    for (const overload of overloads) {
      if (overload.isMember !== isMember || overload.params.length !== args.length) continue;
      const fresh = this.#instantiate([...overload.params, overload.result]);
      if (!this.mapping.assign(args, fresh.slice(0, -1))) continue;
      fitting.push(overload);
      const given = this.mapping.resolve(fresh.at(-1) as CelType, false);
      if (result === undefined) result = given;
      else if (!isDynamic(result) && !isSameType(result, given)) result = dynType;
    }
    if (result === undefined) return this.#noOverload(expr, name, args, isMember);
    this.references.set(expr.id, {
      kind: 'function',
      name,
      overloads: fitting,
      isQualified: !isMember && expr.target !== undefined,
    });
    return result;
  }

  #noOverload(expr: Call, name: string, args: readonly CelType[], isMember: boolean): CelType {
    if (args.some(({ kind }) => kind === 'error')) return errorType;
    const shown = args.map((type) => formatType(this.mapping.resolve(type, true)));
    const signature = isMember ? `${shown[0]}.(${shown.slice(1).join(', ')})` : `(${shown.join(', ')})`;
    return this.#fault(expr.offset, `found no matching overload for '${name}' applied to '${signature}'`);
  }

  #fresh(): CelType {
    this.#freshCount += 1;
    return param(`_var${this.#freshCount}`);
  }

  /** Each call gets new type parameters: those of a signature belong to one call. */
  #instantiate(types: readonly CelType[]): CelType[] {
    const renamed = new Map<string, CelType>();
    const rename = (type: CelType): CelType => {
      switch (type.kind) {
        case 'param': {
          const known = renamed.get(type.name) ?? this.#fresh();
          renamed.set(type.name, known);
          return known;
        }
        case 'list':
          return listOf(rename(type.element));
        case 'map':
          return mapOf(rename(type.key), rename(type.value));
        case 'type':
          return typeOf(type.of === undefined ? undefined : rename(type.of));
        case 'opaque':
          return { ...type, parameters: type.parameters.map(rename) };
        default:
          return type;
      }
    };
    return types.map(rename);
  }

  #unwrap(expr: Expr, type: CelType, optional: boolean): CelType {
    if (!optional) return type;
    const resolved = this.mapping.resolve(type, false);
    if (isOptional(resolved)) return resolved.parameters[0] as CelType;
    if (isDynamic(resolved)) return dynType;
    return this.#mismatch(expr.offset, optionalOf(resolved), resolved);
  }

  #mismatch(offset: number, expected: CelType, found: CelType): CelType {
    const [left, right] = [expected, found].map((type) => formatType(this.mapping.resolve(type, true)));
    return this.#fault(offset, `expected type '${left}' but found '${right}'`);
  }

  /** All elements of a literal must have the same type. */
  #join(offset: number, before: CelType | undefined, type: CelType): CelType {
    if (before === undefined) return type;
    if (this.mapping.assign([type], [before])) return mostGeneral(before, type);
    this.#mismatch(offset, before, type);
    return before;
  }

  #list(expr: ListLiteral): CelType {
    let element: CelType | undefined;
    for (const [index, item] of expr.elements.entries()) {
      const type = this.#unwrap(item, this.check(item), expr.optional.has(index));
      element = this.#join(item.offset, element, type);
    }
    return listOf(element ?? this.#fresh());
  }

  #map(expr: MapLiteral): CelType {
    let key: CelType | undefined;
    let value: CelType | undefined;
    for (const entry of expr.entries) {
      key = this.#join(entry.key.offset, key, this.check(entry.key));
      const type = this.#unwrap(entry.value, this.check(entry.value), entry.optional);
      value = this.#join(entry.value.offset, value, type);
    }
    return mapOf(key ?? this.#fresh(), value ?? this.#fresh());
  }

  #struct(expr: StructLiteral): CelType {
    const struct = this.#environment.parts.structs(expr.type.replace(/^\./, ''));
    for (const { value } of expr.fields) this.check(value);
    if (struct === undefined)
      return this.#fault(expr.offset, `undeclared reference to '${expr.type}' (in container '')`);
    this.references.set(expr.id, { kind: 'struct', struct });
    for (const { name, value, offset, optional } of expr.fields) {
      const declared = struct.type.field(name);
      const given = this.#unwrap(value, this.types.get(value.id) as CelType, optional);
      if (declared === undefined) this.#fault(offset, `undefined field '${name}'`);
      else if (!this.mapping.assign([given], [declared])) {
        const [left, right] = [declared, given].map((type) => formatType(this.mapping.resolve(type, true)));
        this.#fault(offset, `expected type of field '${name}' is '${left}' but provided type is '${right}'`);
      }
    }
    return struct.type;
  }

  #comprehension(expr: Comprehension): CelType {
    const range = this.mapping.resolve(this.check(expr.range), false);
    const accumulator = this.check(expr.accuInit);
    const [first, second] = this.#iterated(expr, range);
    const outer = this.#scope;
    this.#scope = { names: new Map([[expr.accuVar, accumulator]]), outer };
    const accumulatorScope = this.#scope;
    const names = new Map([[expr.iterVar, first]]);
    if (expr.iterVar2 !== undefined) names.set(expr.iterVar2, second);
    this.#scope = { names, outer: accumulatorScope };
    this.#assert(expr.condition, this.check(expr.condition), boolType);
    this.#assert(expr.step, this.check(expr.step), accumulator);
    this.#scope = accumulatorScope;
    const result = this.check(expr.result);
    this.#scope = outer;
    return this.mapping.resolve(result, false);
  }

  #assert(expr: Expr, found: CelType, expected: CelType): void {
    if (!this.mapping.assign([found], [expected])) this.#mismatch(expr.offset, expected, found);
  }

  #iterated(expr: Comprehension, range: CelType): [CelType, CelType] {
    const isPair = expr.iterVar2 !== undefined;
    switch (range.kind) {
      case 'list':
        return isPair ? [intType, range.element] : [range.element, dynType];
      case 'map':
        return [range.key, range.value];
      case 'dyn':
      case 'error':
        return [dynType, dynType];
      case 'param':
        this.mapping.assign([range], [dynType]);
        return [dynType, dynType];
      default: {
        const shown = formatType(range);
        const message = `expression of type '${shown}' cannot be range of a comprehension (must be list, map, or dynamic)`;
        const type = this.#fault(expr.range.offset, message);
        return [type, type];
      }
    }
  }
}

function literalType(value: CelValue): CelType {
  if (value === null) return nullType;
  switch (typeof value) {
    case 'boolean':
      return boolType;
    case 'bigint':
      return intType;
    case 'number':
      return doubleType;
    case 'string':
      return stringType;
    default:
      if (value instanceof Uint) return uintType;
      return value instanceof Uint8Array ? bytesType : dynType;
  }
}
