package burst.controller.action

import burst.protocol.FlareId
import io.circe.syntax.*
import io.circe.{jawn, Json}
import org.apache.pekko.actor.typed.Scheduler
import org.slf4j.LoggerFactory
import scala.concurrent.{ExecutionContext, Future}
import scala.util.control.NonFatal

/** Runs built-in actions, and records them as any other invocation. */
private[action] final class BuiltInRuns(builtIns: BuiltIns, records: Records)(using
    ExecutionContext,
    Scheduler
):
  import BuiltInRuns.*

  def of(call: Call): Option[BuiltIn] = builtIns.of(call.action)

  def begin(call: Call, own: BuiltIn): Future[Begun] =
    val id = FlareId.random()
    val head = RecordFields.begun(id, call, call.action.definition.kind, "timeout" -> false.asJson)
    val path = call.action.target.path
    records.begin(head, path, call.submission, call.component):
      val ended = Future.unit
        .flatMap(_ => own.run(invocation(call)))
        .map(RunResult.rendered)
        .recover:
          case NonFatal(cause) =>
            log.error(s"${call.action.target.qualified} failed unexpectedly", cause)
            // The database may have failed: nothing that the caller could fix.
            RunResult.error(ActivationStatus.InternalError, "The platform failed to run the action.")
        .flatMap: run =>
          val end = ActivationHead.now()
          val known = head.copy(end = Some(end), duration = Some(end - head.start), status = run.status)
          val record = ActivationRecord(known, run.result)
          records.end(record, path).map(_ => record)
      Begun(id, limit => Compositions.within(limit)(ended))

  private def invocation(call: Call): Invocation =
    val payload = jawn.parseByteBuffer(call.payload.bytes.asByteBuffer).getOrElse(Json.obj())
    Invocation(call.caller, call.action, payload, call.origin, call.cause)

private object BuiltInRuns:
  private val log = LoggerFactory.getLogger(classOf[BuiltInRuns])
