/** How far this agent implements upstream's behaviour of a field, an endpoint, a reason or a metric. */
export type ParityState = 'honoured' | 'partly' | 'notYet';

export interface Parity {
  readonly state: ParityState;
  /** What is missing or different, for users. It is always set unless the state is simply honoured. */
  readonly note: string;
}

export const honoured = (note = ''): Parity => ({ state: 'honoured', note });
export const partly = (note: string): Parity => ({ state: 'partly', note });
export const notYet = (note: string): Parity => ({ state: 'notYet', note });
