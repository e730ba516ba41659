import type { Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { errorMessage, isKind } from '../../../base/errors.ts';
import type { Profiler } from '../../ports/profiler.ts';

export interface DebugSources {
  readonly profiler: Profiler;
  /** Returns the wall-clock time. */
  nowMs(): number;
  /** Logs lines up to this level from now on. */
  setVerbosity(level: number): void;
  /** Returns the flags by name, with their values. */
  flags(): Readonly<Record<string, string>>;
  about(): {
    readonly startedAtMs: number;
    readonly version: string;
    readonly engine: string;
    readonly commandLine: readonly string[];
  };
}

export interface DebugOptions {
  readonly profilingHandler: boolean;
  readonly debugFlagsHandler: boolean;
  readonly flagz: boolean;
  readonly statusz: boolean;
}

const DEFAULT_CPU_SECONDS = 30;
const DEFAULT_HEAP_SECONDS = 5;
const MOST_SECONDS = 300;
const MOST_FLAG_BYTES = 256;

/**
 * Adds the debugging endpoints. Each has its own setting (upstream: InstallProfilingHandler, InstallDebugFlagsHandler,
 * InstallZPages).
 */
export function addDebugRoutes(app: Hono, sources: DebugSources, options: DebugOptions): void {
  if (options.profilingHandler) addProfilingRoutes(app, sources);
  else app.all('/debug/pprof/*', (context) => context.text('profiling endpoint is disabled.\n', 405));
  if (options.debugFlagsHandler)
    app.all(
      '/debug/flags/v',
      bodyLimit({
        maxSize: MOST_FLAG_BYTES,
        onError: (context) => context.text('error reading request body: http: request body too large\n', 413),
      }),
      (context) => verbosity(context, sources),
    );
  else app.all('/debug/flags/v', (context) => context.text('flags endpoint is disabled.\n', 405));
  if (options.flagz) app.get('/flagz', (context) => flagz(context, sources));
  if (options.statusz) app.get('/statusz', (context) => statusz(context, app, sources));
}

/**
 * Adds the profiling paths. V8 has its own formats, which browsers' developer tools and speedscope read. Go's other
 * profiles have no equivalent here.
 */
function addProfilingRoutes(app: Hono, { profiler, about }: DebugSources): void {
  app.get('/debug/pprof/profile', (context) =>
    measured(context, {
      fallback: DEFAULT_CPU_SECONDS,
      file: 'kubelet.cpuprofile',
      measure: (ms, signal) => profiler.cpu(ms, signal),
    }),
  );
  for (const name of ['heap', 'allocs'])
    app.get(`/debug/pprof/${name}`, (context) =>
      measured(context, {
        fallback: DEFAULT_HEAP_SECONDS,
        file: 'kubelet.heapprofile',
        measure: (ms, signal) => profiler.heap(ms, signal),
      }),
    );
  app.get('/debug/pprof/cmdline', (context) => context.text(about().commandLine.join('\0')));
  app.get('/debug/pprof/symbol', (context) => context.text('num_symbols: 1\n'));
  for (const path of ['/debug/pprof', '/debug/pprof/'])
    app.get(path, (context) =>
      context.html(
        '<html><head><title>/debug/pprof/</title></head><body><p>Profiles, in the formats of V8:</p><ul><li><a href="/debug/pprof/profile?seconds=30">profile</a></li><li><a href="/debug/pprof/heap?seconds=5">heap</a></li><li><a href="/debug/pprof/cmdline">cmdline</a></li></ul></body></html>\n',
      ),
    );
  app.get('/debug/pprof/*', (context) => context.text('Unknown profile\n', 404));
}

async function measured(
  context: Context,
  {
    fallback,
    file,
    measure,
  }: { fallback: number; file: string; measure: (durationMs: number, signal: AbortSignal) => Promise<string> },
): Promise<Response> {
  const asked = context.req.query('seconds');
  const seconds = asked === undefined ? fallback : Number(asked);
  if (!(seconds > 0 && seconds <= MOST_SECONDS))
    return context.text(`seconds: a number above 0 and up to ${MOST_SECONDS}\n`, 400);
  try {
    const body = await measure(seconds * 1000, context.req.raw.signal);
    return context.body(body, 200, {
      'Content-Type': 'application/json',
      'Content-Disposition': `attachment; filename="${file}"`,
      'X-Content-Type-Options': 'nosniff',
    });
  } catch (error) {
    return context.text(
      isKind(error, 'Conflict') ? 'Could not enable profiling: profiling already in use\n' : `${errorMessage(error)}\n`,
      500,
    );
  }
}

/** Sets the verbosity (upstream: routes.StringFlagPutHandler with logs.GlogSetter). */
async function verbosity(context: Context, sources: DebugSources): Promise<Response> {
  if (context.req.method !== 'PUT') return context.text('unsupported http method\n', 406);
  const value = await context.req.text();
  const level = Number(value);
  if (!/^\d{1,10}$/.test(value))
    return context.text(`strconv.ParseUint: parsing ${JSON.stringify(value)}: invalid syntax\n`, 400);
  if (level > 0x7fff_ffff)
    return context.text(`strconv.ParseUint: parsing ${JSON.stringify(value)}: value out of range\n`, 400);
  sources.setVerbosity(level);
  return context.text(`successfully set klog.logging.verbosity to ${value}\n`, 200, {
    'X-Content-Type-Options': 'nosniff',
  });
}

const WARNING =
  'Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.';

const servedVersions = ['v1alpha1', 'v1beta1'];

/** Returns the version in which the object was requested, if any. */
function versionOf(kind: string, accepted: string): string | undefined {
  for (const range of accepted.split(',')) {
    const [type = '', ...given] = range.split(';').map((part) => part.trim());
    const parameters = new Set(given);
    const version = servedVersions.find((each) => parameters.has(`v=${each}`));
    if (
      type === 'application/json' &&
      parameters.has(`as=${kind}`) &&
      parameters.has('g=config.k8s.io') &&
      version !== undefined
    )
      return version;
  }
  return undefined;
}

/** Returns plain text, or an object for clients that request one by name. Other types are not available. */
function represented(context: Context, kind: 'Flagz' | 'Statusz', text: string, fields: object): Response {
  const accepted = context.req.header('accept') ?? '*/*';
  const version = versionOf(kind, accepted);
  if (version !== undefined)
    return context.json({ kind, apiVersion: `config.k8s.io/${version}`, metadata: { name: 'kubelet' }, ...fields });
  if (!/text\/plain|text\/\*|\*\/\*/.test(accepted))
    return context.text('only the following media types are accepted: text/plain, application/json', 406);
  return context.text(text);
}

function flagz(context: Context, sources: DebugSources): Response {
  const flags = sources.flags();
  const lines = Object.keys(flags)
    .sort()
    .map((name) => `${name}=${flags[name] ?? ''}\n`);
  return represented(context, 'Flagz', `\nkubelet flagz\n${WARNING}\n${lines.join('')}`, { flags });
}

function statusz(context: Context, app: Hono, sources: DebugSources): Response {
  const { startedAtMs, version, engine } = sources.about();
  const seconds = Math.max(0, Math.floor((sources.nowMs() - startedAtMs) / 1000));
  const paths = [...new Set(app.routes.map(({ path }) => path).filter((path) => !/[:*]/.test(path)))].sort();
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  const text = `\nkubelet statusz\n${WARNING}\n\nStarted: ${new Date(startedAtMs).toUTCString()}\nUp: ${hours} hr ${String(minutes).padStart(2, '0')} min ${String(seconds % 60).padStart(2, '0')} sec\nGo version: none (${engine})\nBinary version: ${version}\nPaths: ${paths.join(' ')}\n`;
  return represented(context, 'Statusz', text, {
    startTime: new Date(startedAtMs).toISOString().replace(/\.\d+Z$/, 'Z'),
    uptimeSeconds: seconds,
    goVersion: engine,
    binaryVersion: version,
    paths,
  });
}
