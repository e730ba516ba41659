import type { Work } from './work.ts';
import type { MacroTable } from './macros.ts';
import type { CelType, ObjectType } from './types.ts';
import type { CelMap, CelResult, CelValue } from './values.ts';

/** One signature of a function, and its implementation. */
export interface Overload {
  /** Upstream's id of the overload, by which its cost is looked up. */
  readonly id: string;
  /** The types of the arguments; for member functions the target is the first one. */
  readonly params: readonly CelType[];
  readonly result: CelType;
  readonly isMember: boolean;
  /** Called with arguments of the types in `params`. It may throw `Suspension` when it must wait for an answer. */
  readonly call: (args: readonly CelValue[], work: Work) => CelResult;
}

/** Overloads by function name. */
export type FunctionTable = ReadonlyMap<string, readonly Overload[]>;

/** Gets the arguments, and a `Work` after them if it visits whole values. */
type Implementation = (...args: never[]) => CelResult;

/** An overload that is called as `name(arguments)`. */
export function globalFunction(
  id: string,
  params: readonly CelType[],
  result: CelType,
  implementation: Implementation,
): Overload {
  return { id, params, result, isMember: false, call: spread(implementation) };
}

/** An overload that is called as `target.name(others)`; the target is the first argument. */
export function memberFunction(
  id: string,
  params: readonly CelType[],
  result: CelType,
  implementation: Implementation,
): Overload {
  return { id, params, result, isMember: true, call: spread(implementation) };
}

/** The types of the arguments are right: the checker and the choice of the overload ensure it. */
function spread(implementation: Implementation): Overload['call'] {
  const called = implementation as unknown as (...args: readonly (CelValue | Work)[]) => CelResult;
  return (args, work) => called(...args, work);
}

/** A function library: the functions, macros and types that it declares. */
export interface Library {
  readonly functions?: Readonly<Record<string, readonly Overload[]>>;
  readonly macros?: MacroTable;
  /** Names of types, such as `kubernetes.Quantity`. */
  readonly typeNames?: Readonly<Record<string, CelType>>;
  /** Whether literal arguments that can never be right are errors of the expression. */
  readonly checksLiterals?: boolean;
}

/** A type whose values can be constructed in an expression: `Name{field: value}`. */
export interface StructType {
  readonly type: ObjectType;
  readonly create: (fields: ReadonlyMap<string, CelValue>) => CelMap;
}

interface EnvironmentParts {
  readonly functions: FunctionTable;
  readonly macros: MacroTable;
  readonly typeNames: ReadonlyMap<string, CelType>;
  readonly variables: ReadonlyMap<string, CelType>;
  readonly structs: (name: string) => StructType | undefined;
  readonly checksLiterals: boolean;
}

/** What an expression may refer to. An environment is immutable; the `with…` methods return an extended one. */
export class Environment {
  readonly parts: EnvironmentParts;

  private constructor(parts: EnvironmentParts) {
    this.parts = parts;
  }

  static of(...libraries: readonly Library[]): Environment {
    const empty = { functions: new Map(), macros: new Map(), typeNames: new Map(), variables: new Map() };
    return new Environment({ ...empty, structs: () => undefined, checksLiterals: false }).withLibraries(...libraries);
  }

  withLibraries(...libraries: readonly Library[]): Environment {
    const functions = new Map(this.parts.functions);
    const macros = new Map(this.parts.macros);
    const typeNames = new Map(this.parts.typeNames);
    for (const library of libraries) {
      for (const [name, overloads] of Object.entries(library.functions ?? {}))
        functions.set(name, [...(functions.get(name) ?? []), ...overloads]);
      for (const [key, macro] of library.macros ?? []) macros.set(key, macro);
      for (const [name, type] of Object.entries(library.typeNames ?? {})) typeNames.set(name, type);
    }
    const checksLiterals = this.parts.checksLiterals || libraries.some((each) => each.checksLiterals === true);
    return new Environment({ ...this.parts, functions, macros, typeNames, checksLiterals });
  }

  withVariables(variables: Readonly<Record<string, CelType>>): Environment {
    const all = new Map([...this.parts.variables, ...Object.entries(variables)]);
    return new Environment({ ...this.parts, variables: all });
  }

  withStructs(structs: (name: string) => StructType | undefined): Environment {
    const before = this.parts.structs;
    return new Environment({ ...this.parts, structs: (name) => structs(name) ?? before(name) });
  }
}
