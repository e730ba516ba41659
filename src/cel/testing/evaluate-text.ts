import { compileExpression } from '../compile.ts';
import { Environment } from '../environment.ts';
import { Work } from '../work.ts';
import { fromJson, toJson } from '../json-values.ts';
import { bindings, comprehensions } from '../library/comprehensions.ts';
import { conversions } from '../library/conversions.ts';
import { encoders } from '../library/encoders.ts';
import { cidrs, ips } from '../library/ip.ts';
import { kubernetesLists, lists } from '../library/lists.ts';
import { operators } from '../library/operators.ts';
import { optionals } from '../library/optionals.ts';
import { regexes } from '../library/regex.ts';
import { semvers } from '../library/semver.ts';
import { sets } from '../library/sets.ts';
import { stringReverse, strings } from '../library/strings.ts';
import { urls } from '../library/url.ts';
import { standardMacros } from '../macros.ts';
import type { CelType } from '../types.ts';
import { dynType } from '../types.ts';
import { CelError } from '../values.ts';

/** All libraries in this folder. */
const everything = Environment.of(
  { macros: standardMacros },
  operators,
  conversions,
  optionals,
  strings,
  stringReverse,
  kubernetesLists,
  lists,
  sets,
  regexes,
  urls,
  ips,
  cidrs,
  semvers,
  comprehensions,
  bindings,
  encoders,
);

function environmentWith(types: Readonly<Record<string, CelType>>): Environment {
  return everything.withVariables(types);
}

/** The result of an expression as JSON; a string for every kind of error. Variables have the type dyn. */
export function evaluateText(
  source: string,
  variables: Readonly<Record<string, unknown>> = {},
  limit = 1_000_000,
): unknown {
  const types = Object.fromEntries(Object.keys(variables).map((name) => [name, dynType]));
  const program = compileExpression(source, environmentWith(types));
  if ('fault' in program) return program.fault;
  const read = (name: string) => (Object.hasOwn(variables, name) ? fromJson(variables[name]) : undefined);
  const { result } = program.evaluate(read, limit);
  if (result === 'cost-exceeded') return 'cost exceeded';
  return result instanceof CelError ? `error: ${result.message}` : toJson(result, new Work(1_000_000));
}
