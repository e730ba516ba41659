import type { Library } from '../../cel/environment.ts';
import { Environment } from '../../cel/environment.ts';
import { comprehensions } from '../../cel/library/comprehensions.ts';
import { conversions } from '../../cel/library/conversions.ts';
import { cidrs, ips } from '../../cel/library/ip.ts';
import { kubernetesLists, lists } from '../../cel/library/lists.ts';
import { operators } from '../../cel/library/operators.ts';
import { optionals } from '../../cel/library/optionals.ts';
import { regexes } from '../../cel/library/regex.ts';
import { semvers } from '../../cel/library/semver.ts';
import { sets } from '../../cel/library/sets.ts';
import { strings } from '../../cel/library/strings.ts';
import { urls } from '../../cel/library/url.ts';
import { standardMacros } from '../../cel/macros.ts';
import { authorizers } from './authorizer.ts';
import { namedFormats } from './format.ts';
import { quantities } from './quantity.ts';

const standard: Library = { macros: standardMacros, checksLiterals: true };

/** The functions of every expression of Kubernetes 1.36 (upstream: cel/environment/base.go). */
export const baseEnvironment = Environment.of(
  standard,
  operators,
  conversions,
  optionals,
  urls,
  regexes,
  kubernetesLists,
  authorizers,
  quantities,
  strings,
  sets,
  ips,
  cidrs,
  namedFormats,
  comprehensions,
  semvers,
  lists,
);
