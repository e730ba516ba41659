// A bar from 0 to a limit, with the request drawn in. Decorative: the figures stand beside it as text.

import { setAttribute } from './dom.js';

const SVG = 'http://www.w3.org/2000/svg';
const WIDTH = 100;
const HEIGHT = 6;

/**
 * @typedef {object} MeterFacts
 * @property {number | undefined} value
 * @property {number | undefined} max What the whole bar stands for
 * @property {number | undefined} [mark] Where a line is drawn: a request or a threshold
 * @property {'limit' | 'scale'} [kind] Near a limit the bar changes its colour; a scale is only for comparison
 */

export class Meter {
  node = document.createElementNS(SVG, 'svg');
  #track = document.createElementNS(SVG, 'rect');
  #bar = document.createElementNS(SVG, 'rect');
  #mark = document.createElementNS(SVG, 'line');

  constructor() {
    const { node } = this;
    node.setAttribute('viewBox', `0 0 ${WIDTH} ${HEIGHT}`);
    node.setAttribute('preserveAspectRatio', 'none');
    node.setAttribute('class', 'meter');
    node.setAttribute('aria-hidden', 'true');
    for (const rect of [this.#track, this.#bar]) rect.setAttribute('height', String(HEIGHT));
    this.#track.setAttribute('width', String(WIDTH));
    this.#track.setAttribute('class', 'track');
    this.#mark.setAttribute('y2', String(HEIGHT));
    node.append(this.#track, this.#bar, this.#mark);
  }

  /** @param {MeterFacts} facts */
  set({ value, max, mark, kind = 'limit' }) {
    const share = value === undefined || max === undefined || max <= 0 ? 0 : Math.min(1, value / max);
    setAttribute(this.#bar, 'width', (share * WIDTH).toFixed(1));
    const level = kind === 'scale' ? 'calm' : share >= 0.95 ? 'bad' : share >= 0.8 ? 'warn' : 'good';
    setAttribute(this.#bar, 'class', `bar ${level}`);
    setAttribute(this.#track, 'class', max === undefined ? 'track none' : 'track');
    const at = mark === undefined || max === undefined || max <= 0 || mark > max ? undefined : (mark / max) * WIDTH;
    setAttribute(this.#mark, 'class', at === undefined ? 'mark none' : 'mark');
    if (at === undefined) return;
    for (const side of ['x1', 'x2']) setAttribute(this.#mark, side, at.toFixed(1));
  }
}
