/** The worker thread for long texts; it processes one at a time. */
import { parentPort } from 'node:worker_threads';
import { textTasks } from './text-tasks.ts';
import type { TextTasks } from './text-tasks.ts';

export interface TextQuestion {
  readonly task: keyof TextTasks;
  readonly text: string;
}

export type TextAnswer = { readonly result: unknown } | { readonly error: string };

async function answer({ task, text }: TextQuestion): Promise<TextAnswer> {
  try {
    return { result: await textTasks[task](text) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

parentPort?.on(
  'message',
  (question: TextQuestion) => void answer(question).then((given) => parentPort?.postMessage(given)),
);
