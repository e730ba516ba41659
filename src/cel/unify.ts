import type { CelType } from './types.ts';
import { isDynamic } from './types.ts';

/**
 * The types that are assigned to the type parameters of an expression. `assign` decides whether a value of one type can
 * be used as another, and assigns parameters for that (upstream: checker/types.go).
 */
export class TypeMapping {
  readonly #known = new Map<string, CelType>();
  /** The changes of the current try, with the previous values. */
  readonly #trail: (readonly [string, CelType | undefined])[] = [];

  /** Whether a value of each type can be used as the type beside it. If not, no parameters are assigned. */
  assign(from: readonly CelType[], to: readonly CelType[]): boolean {
    this.#trail.length = 0;
    if (this.#assignAll(from, to)) return true;
    for (const [name, before] of this.#trail.reverse()) {
      if (before === undefined) this.#known.delete(name);
      else this.#known.set(name, before);
    }
    return false;
  }

  #learn(name: string, type: CelType): void {
    this.#trail.push([name, this.#known.get(name)]);
    this.#known.set(name, type);
  }

  /** The type with all assigned parameters replaced; with `toDyn`, the others become dyn. */
  resolve(type: CelType, toDyn: boolean): CelType {
    switch (type.kind) {
      case 'param': {
        const known = this.#known.get(type.name);
        if (known !== undefined) return this.resolve(known, toDyn);
        return toDyn ? { kind: 'dyn' } : type;
      }
      case 'list':
        return { ...type, element: this.resolve(type.element, toDyn) };
      case 'map':
        return { ...type, key: this.resolve(type.key, toDyn), value: this.resolve(type.value, toDyn) };
      case 'type':
        return type.of === undefined ? type : { kind: 'type', of: this.resolve(type.of, toDyn) };
      case 'opaque':
        if (type.parameters.length === 0) return type;
        return { ...type, parameters: type.parameters.map((parameter) => this.resolve(parameter, toDyn)) };
      default:
        return type;
    }
  }

  #assignAll(from: readonly CelType[], to: readonly CelType[]): boolean {
    return from.length === to.length && from.every((type, index) => this.#assign(type, to[index] as CelType));
  }

  #assign(from: CelType, to: CelType): boolean {
    if (to.kind === 'param') {
      const found = this.#substitute(from, to);
      if (found !== 'unknown') return found === 'fits';
    }
    if (from.kind === 'param') return this.#substitute(to, from) === 'fits';
    if (isDynamic(from) || isDynamic(to)) return true;
    if (from.kind === 'null') return isNullable(to);
    if (to.kind === 'null') return isNullable(from);
    switch (from.kind) {
      case 'list':
        return to.kind === 'list' && this.#assign(from.element, to.element);
      case 'map':
        return to.kind === 'map' && this.#assign(from.key, to.key) && this.#assign(from.value, to.value);
      case 'opaque':
        return to.kind === 'opaque' && from.name === to.name && this.#assignAll(from.parameters, to.parameters);
      case 'object':
        return to.kind === 'object' && from.name === to.name;
      default:
        return from.kind === to.kind;
    }
  }

  /** 'unknown': the parameter is not assigned and cannot be assigned this type. */
  #substitute(type: CelType, param: CelType & { kind: 'param' }): 'fits' | 'differs' | 'unknown' {
    if (type.kind === 'param' && type.name === param.name) return 'fits';
    const known = this.#known.get(param.name);
    if (known === undefined) {
      if (this.#mentions(type, param.name)) return 'unknown';
      this.#learn(param.name, type);
      return 'fits';
    }
    if (isSameType(known, type)) return 'fits';
    if (!this.#assign(type, known)) return 'differs';
    const general = mostGeneral(type, known);
    if (!this.#mentions(general, param.name)) this.#learn(param.name, general);
    return 'fits';
  }

  #mentions(type: CelType, name: string): boolean {
    switch (type.kind) {
      case 'param': {
        if (type.name === name) return true;
        const known = this.#known.get(type.name);
        return known !== undefined && this.#mentions(known, name);
      }
      case 'list':
        return this.#mentions(type.element, name);
      case 'map':
        return this.#mentions(type.key, name) || this.#mentions(type.value, name);
      case 'type':
        return type.of !== undefined && this.#mentions(type.of, name);
      case 'opaque':
        return type.parameters.some((parameter) => this.#mentions(parameter, name));
      default:
        return false;
    }
  }
}

function isNullable(type: CelType): boolean {
  return ['null', 'opaque', 'object', 'duration', 'timestamp'].includes(type.kind);
}

/** The more general one of two types that can be assigned to each other. */
export function mostGeneral(left: CelType, right: CelType): CelType {
  return isEqualOrLessSpecific(left, right) ? left : right;
}

function isEqualOrLessSpecific(left: CelType, right: CelType): boolean {
  if (isDynamic(left) || left.kind === 'param') return true;
  if (isDynamic(right) || right.kind === 'param') return false;
  switch (left.kind) {
    case 'list':
      return right.kind === 'list' && isEqualOrLessSpecific(left.element, right.element);
    case 'map':
      return (
        right.kind === 'map' &&
        isEqualOrLessSpecific(left.key, right.key) &&
        isEqualOrLessSpecific(left.value, right.value)
      );
    case 'opaque':
      return (
        right.kind === 'opaque' &&
        left.name === right.name &&
        left.parameters.length === right.parameters.length &&
        left.parameters.every((parameter, index) =>
          isEqualOrLessSpecific(parameter, right.parameters[index] as CelType),
        )
      );
    case 'type':
      return right.kind === 'type';
    default:
      return isSameType(left, right);
  }
}

export function isSameType(left: CelType, right: CelType): boolean {
  switch (left.kind) {
    case 'list':
      return right.kind === 'list' && isSameType(left.element, right.element);
    case 'map':
      return right.kind === 'map' && isSameType(left.key, right.key) && isSameType(left.value, right.value);
    case 'type':
      return (
        right.kind === 'type' &&
        (left.of === right.of || (left.of !== undefined && right.of !== undefined && isSameType(left.of, right.of)))
      );
    case 'opaque':
      return (
        right.kind === 'opaque' &&
        left.name === right.name &&
        left.parameters.length === right.parameters.length &&
        left.parameters.every((parameter, index) => isSameType(parameter, right.parameters[index] as CelType))
      );
    case 'object':
    case 'param':
      return right.kind === left.kind && right.name === left.name;
    default:
      return left.kind === right.kind;
  }
}
