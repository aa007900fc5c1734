package burst.node.logs

import burst.protocol.{FlareId, Origin}
import org.slf4j.spi.LoggingEventBuilder

/** Adds the ids that a log line refers to as separate keys: a reader of the JSON finds all lines of a flare,
  * or a request, by these, whichever process wrote them.
  */
object LogIds:
  private val Flare = "flare"
  private val Transaction = "transaction"
  private val Trace = "trace"

  extension (line: LoggingEventBuilder)
    def of(flare: FlareId): LoggingEventBuilder = line.addKeyValue(Flare, flare.value)

    def of(flare: FlareId, origin: Option[Origin]): LoggingEventBuilder =
      origin.fold(line.of(flare))(line.of(flare).of(_))

    def of(origin: Origin): LoggingEventBuilder =
      val known = line.addKeyValue(Transaction, origin.transaction)
      origin.trace.fold(known)(context => known.addKeyValue(Trace, context.traceId))
