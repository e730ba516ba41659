import { request as httpRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { Dialer, DialTarget } from '../options.ts';

const PATH = '/metrics/resource';
const DIAL_TIMEOUT_MS = 5000;
const ANSWER_TIMEOUT_MS = 10_000;
/** 10,000 containers. */
const LONGEST_ANSWER = 16 * 1024 * 1024;

/** A kubelet's own numbers. Rejects when it cannot be had, answers anything but 200, or too much; redirects are not followed. */
export async function scrapeKubelet(dialer: Dialer, target: DialTarget): Promise<string> {
  const socket = await dialer.dial(target, DIAL_TIMEOUT_MS);
  return new Promise((resolve, reject) => {
    const host = target.host.includes(':') ? `[${target.host}]` : target.host;
    const request = httpRequest({
      method: 'GET',
      path: PATH,
      headers: { host: `${host}:${target.port}`, accept: 'text/plain', connection: 'close' },
      createConnection: () => socket,
      timeout: ANSWER_TIMEOUT_MS,
    });
    const fail = (why: Error): void => {
      socket.destroy();
      reject(why);
    };
    request.on('timeout', () => fail(new Error(`no answer within ${ANSWER_TIMEOUT_MS} ms`)));
    request.on('error', fail);
    request.on('response', (answer) =>
      readText(answer)
        .then(
          (text) =>
            answer.statusCode === 200
              ? resolve(text)
              : fail(new Error(`request failed, status: "${answer.statusCode ?? 0}"`)),
          fail,
        )
        .finally(() => socket.destroy()),
    );
    request.end();
  });
}

async function readText(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > LONGEST_ANSWER) throw new Error(`the answer is longer than ${LONGEST_ANSWER} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
