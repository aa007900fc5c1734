package burst.node.traces

import io.opentelemetry.sdk.common.CompletableResultCode
import io.opentelemetry.sdk.trace.`export`.SpanExporter
import io.opentelemetry.sdk.trace.data.SpanData
import java.util.Collection as JavaCollection
import java.util.concurrent.atomic.{AtomicBoolean, AtomicLong}
import org.slf4j.LoggerFactory

/** Counts what has arrived at the collector and what has not, and logs once when that changes. */
private[traces] final class WatchedExporter(to: SpanExporter, endpoint: String) extends SpanExporter:
  import WatchedExporter.log

  val exported: AtomicLong = AtomicLong()
  val failed: AtomicLong = AtomicLong()
  private val failing = AtomicBoolean()

  def `export`(spans: JavaCollection[SpanData]): CompletableResultCode =
    val result = to.`export`(spans)
    result.whenComplete: () =>
      if result.isSuccess then
        exported.addAndGet(spans.size)
        if failing.compareAndSet(true, false) then log.info("traces arrive at {} again", endpoint)
      else
        failed.addAndGet(spans.size)
        if failing.compareAndSet(false, true) then
          val why = Option(result.getFailureThrowable).fold("it refuses them")(_.getMessage)
          log.warn("traces do not arrive at {} and are dropped: {}", endpoint, why)

  def flush(): CompletableResultCode = to.flush()
  def shutdown(): CompletableResultCode = to.shutdown()

private object WatchedExporter:
  private val log = LoggerFactory.getLogger(classOf[Traces])
