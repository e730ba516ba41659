// Lines over the last five minutes, drawn by uPlot, with limits as dashed lines.

import uPlot from './uPlot.esm.js';

/**
 * @typedef {object} ChartSeries
 * @property {string} name
 * @property {'--line-1' | '--line-2' | '--line-3'} color A custom property of the style sheet
 * @property {boolean} [filled]
 *
 * @typedef {object} ChartLine A constant drawn in: a limit, a request or a threshold
 * @property {string} label
 * @property {number} value
 * @property {'--bad' | '--warn' | '--muted'} color
 *
 * @typedef {object} ChartOptions
 * @property {string} label What the chart shows, for screen readers
 * @property {readonly ChartSeries[]} series
 * @property {(value: number) => string} format
 * @property {number} least The scale reaches at least so far
 * @property {boolean} [binary] Steps of the scale are those of KiB and MiB
 * @property {number} [height] Pixels
 */

const SPAN_SECONDS = 300;
const HEIGHT = 100;

const colorOf = (/** @type {string} */ name) =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Every chart that is shown, so that each follows its own width and the colours of the system. */
const shown = new Set();
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  for (const chart of shown) chart.redraw();
});

export class Chart {
  /** @type {HTMLElement} */
  node;
  #plot;
  #options;
  /** @type {readonly ChartLine[]} */
  #lines = [];
  #resizing;

  /** @param {ChartOptions} options */
  constructor(options) {
    this.#options = options;
    this.node = document.createElement('div');
    this.node.className = 'chart';
    this.node.setAttribute('role', 'img');
    this.node.setAttribute('aria-label', options.label);
    const height = options.height ?? HEIGHT;
    this.#plot = new uPlot(this.#plotOptions(height), [[], ...options.series.map(() => [])], this.node);
    this.#resizing = new ResizeObserver(([entry]) => {
      const width = Math.floor(entry?.contentRect.width ?? 0);
      if (width > 0 && width !== this.#plot.width) this.#plot.setSize({ width, height });
    });
    this.#resizing.observe(this.node);
    shown.add(this);
  }

  /**
   * @param {readonly number[]} timesMs
   * @param {readonly (readonly (number | undefined)[])[]} values By series
   * @param {readonly ChartLine[]} [lines]
   */
  set(timesMs, values, lines = []) {
    this.#lines = lines;
    const seconds = timesMs.map((ms) => ms / 1000);
    this.#plot.setData([seconds, ...values.map((each) => each.map((value) => value ?? null))]);
  }

  redraw() {
    this.#plot.redraw(false);
  }

  destroy() {
    this.#resizing.disconnect();
    shown.delete(this);
    this.#plot.destroy();
  }

  /**
   * @param {number} height
   * @returns {uPlot.Options}
   */
  #plotOptions(height) {
    const { series, format } = this.#options;
    const axis = { stroke: () => colorOf('--muted'), font: '11px system-ui, sans-serif', ticks: { show: false } };
    return {
      width: 280,
      height,
      legend: { show: false },
      cursor: { show: false },
      padding: [8, 2, 8, 0],
      scales: {
        x: { range: (_plot, _min, max) => [max - SPAN_SECONDS, max] },
        y: { range: (_plot, _min, max) => [0, this.#top(max ?? 0)] },
      },
      axes: [
        { ...axis, show: false },
        {
          ...axis,
          size: 68,
          gap: 6,
          splits: (plot) => {
            const top = plot.scales['y']?.max ?? 1;
            return [0, top / 2, top];
          },
          values: (_plot, splits) => splits.map((value) => format(value)),
          grid: { stroke: () => colorOf('--grid'), width: 1 },
        },
      ],
      series: [
        {},
        ...series.map(({ color, filled }) => ({
          stroke: () => colorOf(color),
          width: 1.5,
          points: { show: false },
          spanGaps: false,
          ...(filled === true && { fill: () => `${colorOf(color)}22` }),
        })),
      ],
      hooks: { draw: [(plot) => this.#drawLines(plot)] },
    };
  }

  /** @param {number} max The highest value; lines that are not far above it are shown too. */
  #top(max) {
    const { least, binary } = this.#options;
    const near = this.#lines.map(({ value }) => value).filter((value) => value <= max * 4);
    return roundTop(Math.max(max, least, ...near), binary === true);
  }

  /** @param {uPlot} plot */
  #drawLines(plot) {
    const { ctx, bbox } = plot;
    const top = plot.scales['y']?.max ?? 0;
    ctx.save();
    ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
    ctx.lineWidth = devicePixelRatio;
    for (const { value, color } of this.#lines) {
      if (value > top) continue;
      const y = Math.round(plot.valToPos(value, 'y', true)) + 0.5;
      ctx.strokeStyle = colorOf(color);
      ctx.beginPath();
      ctx.moveTo(bbox.left, y);
      ctx.lineTo(bbox.left + bbox.width, y);
      ctx.stroke();
    }
    ctx.restore();
  }
}

/**
 * The next number of which the half is short too.
 *
 * @param {number} value Above 0
 * @param {boolean} binary
 */
export function roundTop(value, binary) {
  const base = binary ? 2 : 10;
  const unit = base ** Math.floor(Math.log(value) / Math.log(base));
  const steps = binary ? [1, 1.5, 2] : [1, 2, 4, 6, 8, 10];
  return unit * (steps.find((step) => step * unit >= value) ?? base);
}
