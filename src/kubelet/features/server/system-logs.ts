import type { Context, Hono } from 'hono';
import { errorMessage, isKind } from '../../../base/errors.ts';
import type { LogFile } from '../../ports/log-files.ts';
import type { Processes } from '../../ports/processes.ts';
import type { SystemLogs } from '../../ports/system-logs.ts';
import { hasOptions, journalArguments, readNodeLogQuery } from './node-log-query.ts';
import type { NodeLogQuery } from './node-log-query.ts';
import { streamBody } from './stream-body.ts';

export interface SystemLogSources {
  readonly systemLogs: SystemLogs;
  readonly processes: Pick<Processes, 'run'>;
}

const CHUNK_BYTES = 64 * 1024;
const JOURNAL_TIMEOUT_MS = 30_000;
const MOST_JOURNAL_BYTES = 32 * 1024 * 1024;
/**
 * The maximum number of concurrent requests. Each runs journalctl over possibly gigabytes, and holds its response in
 * memory until it is read.
 */
const MOST_AT_ONCE = 2;

/** Adds `/logs/` and everything below it, and queries for services (upstream: ServeLogs). */
export function addSystemLogRoutes(
  app: Hono,
  sources: SystemLogSources,
  { systemLogHandler, systemLogQuery }: { readonly systemLogHandler: boolean; readonly systemLogQuery: boolean },
): void {
  if (!systemLogHandler) {
    for (const path of ['/logs', '/logs/*'])
      app.all(path, (context) => context.text('logs endpoint is disabled.\n', 405));
    return;
  }
  let asking = 0;
  app.get('/logs', (context) => context.redirect('/logs/', 301));
  app.get('/logs/*', async (context) => {
    const asked = systemLogQuery
      ? readNodeLogQuery(new URL(context.req.url).searchParams)
      : ({ outcome: 'none' } as const);
    if (asked.outcome === 'refused') return context.text(`${asked.problem}\n`, asked.status);
    if (asked.outcome === 'query' && asked.query.services.length > 0) {
      if (asking >= MOST_AT_ONCE)
        return context.text(`${MOST_AT_ONCE} queries for services are already running\n`, 429, {
          'Retry-After': '5',
        });
      asking++;
      try {
        return context.text(await serviceLogs(asked.query, sources), 200);
      } finally {
        asking--;
      }
    }
    return browse(
      context,
      sources.systemLogs,
      asked.outcome === 'query' && asked.query.files[0] !== undefined
        ? asked.query.files[0]
        : context.req.path.slice('/logs/'.length),
    );
  });
}

/** Returns the content of a file, or the listing of a folder, as a file server. */
async function browse(context: Context, logs: SystemLogs, path: string): Promise<Response> {
  try {
    const entry = await logs.open(path);
    if (entry.kind === 'folder')
      return context.html(
        `<!doctype html>\n<meta name="viewport" content="width=device-width">\n<pre>\n${entry.entries.map(({ name, isFolder }) => link(isFolder ? `${name}/` : name)).join('')}</pre>\n`,
      );
    context.header('Content-Type', 'text/plain; charset=utf-8');
    context.header('X-Content-Type-Options', 'nosniff');
    context.header('Transfer-Encoding', 'chunked');
    return streamBody(context, async (out) => {
      try {
        for await (const chunk of wholeFile(entry.file)) {
          if (out.aborted) break;
          await out.write(chunk);
        }
      } finally {
        await entry.file.close();
      }
    });
  } catch (error) {
    if (isKind(error, 'NotFound')) return context.text('404 page not found\n', 404);
    return context.text('403 Forbidden\n', 403);
  }
}

/** Reads a file up to its initial size, so that the read of a log that is written all the time ends. */
async function* wholeFile(file: LogFile): AsyncGenerator<Uint8Array> {
  const sizeBytes = await file.sizeBytes();
  for (let at = 0; at < sizeBytes; ) {
    const chunk = await file.read(at, Math.min(CHUNK_BYTES, sizeBytes - at));
    if (chunk.length === 0) return;
    at += chunk.length;
    yield chunk;
  }
}

const link = (name: string): string =>
  `<a href="${encodeURI(name).replaceAll('"', '%22').replaceAll('?', '%3F').replaceAll('#', '%23')}">${name.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')}</a>\n`;

/**
 * Returns the logs of services: from the journal for those that systemd knows, else from their usual log files. As in
 * upstream, a failure is a line of the response.
 */
async function serviceLogs(query: NodeLogQuery, { systemLogs, processes }: SystemLogSources): Promise<string> {
  const units = await journal(processes, ['--field', '_SYSTEMD_UNIT']);
  const inJournal = query.services.filter((service) => units.includes(`${service}.service`));
  const inFiles = query.services.filter((service) => !inJournal.includes(service));
  if (inFiles.length === 0) return journal(processes, journalArguments(query, inJournal));
  if (hasOptions(query))
    return `\noptions present and query resolved to log files for [${inFiles.join(' ')}]\ntry without specifying options\n`;
  return (await Promise.all(inFiles.map((service) => fileOfService(systemLogs, service)))).join('');
}

async function journal(processes: SystemLogSources['processes'], words: readonly string[]): Promise<string> {
  try {
    const { stdout, stderr } = await processes.run('journalctl', [...words], {
      timeoutMs: JOURNAL_TIMEOUT_MS,
      outputLimitBytes: MOST_JOURNAL_BYTES,
    });
    return stdout + stderr;
  } catch (error) {
    return isKind(error, 'Invalid')
      ? `\nerror: the journal has more than ${MOST_JOURNAL_BYTES} bytes of it; ask for fewer lines\n`
      : '\nerror: journal output not available\n';
  }
}

async function fileOfService(logs: SystemLogs, service: string): Promise<string> {
  for (const name of [service, `${service}.log`, `${service}/${service}.log`]) {
    try {
      const entry = await logs.open(name);
      if (entry.kind === 'folder') continue;
      try {
        const chunks: Uint8Array[] = [];
        let bytes = 0;
        for await (const chunk of wholeFile(entry.file)) {
          bytes += chunk.length;
          if (bytes > MOST_JOURNAL_BYTES)
            return `\nerror getting log for ${service}: it has more than ${MOST_JOURNAL_BYTES} bytes; ask for the file\n`;
          chunks.push(chunk);
        }
        return chunks.map((chunk) => new TextDecoder().decode(chunk, { stream: true })).join('');
      } finally {
        await entry.file.close();
      }
    } catch (error) {
      if (!isKind(error, 'NotFound')) return `\nerror getting log for ${service}: ${errorMessage(error)}\n`;
    }
  }
  return `\nlog not found for ${service}\n`;
}
