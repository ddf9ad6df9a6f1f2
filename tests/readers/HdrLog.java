import java.util.LinkedHashMap;
import java.util.Map;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramLogReader;

/** Reads an interval log with HdrHistogram itself and prints what each tag comes to, one JSON a line. */
class HdrLog {
    public static void main(String[] args) throws Exception {
        HistogramLogReader reader = new HistogramLogReader(args[0]);
        Map<String, Histogram> totals = new LinkedHashMap<>();
        Map<String, Double> seconds = new LinkedHashMap<>();
        while (reader.hasNext()) {
            Histogram histogram = (Histogram) reader.nextIntervalHistogram();
            if (histogram == null) {
                break;
            }
            String tag = histogram.getTag();
            Histogram total = totals.computeIfAbsent(tag, name -> new Histogram(3));
            total.add(histogram);
            double length = (histogram.getEndTimeStamp() - histogram.getStartTimeStamp()) / 1000.0;
            seconds.merge(tag, length, Double::sum);
        }
        for (Map.Entry<String, Histogram> entry : totals.entrySet()) {
            Histogram total = entry.getValue();
            System.out.printf(
                "{\"tag\":\"%s\",\"count\":%d,\"p50\":%d,\"p99\":%d,\"max\":%d,\"seconds\":%.3f}%n",
                entry.getKey(), total.getTotalCount(), total.getValueAtPercentile(50),
                total.getValueAtPercentile(99), total.getMaxValue(), seconds.get(entry.getKey()));
        }
    }
}
