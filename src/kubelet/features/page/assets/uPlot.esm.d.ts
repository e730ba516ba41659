// The types of the chart library, under the name by which the page loads it.
import uPlot from 'uplot';
export { uPlot as default };
