package burst.controller.http

import org.apache.pekko.stream.stage.*
import org.apache.pekko.stream.{Attributes, Inlet, SinkShape}
import org.apache.pekko.util.ByteString
import scala.concurrent.duration.{Duration, DurationInt, FiniteDuration}
import scala.concurrent.{ExecutionContext, Future, Promise}

/** How long a body may take: `overall`, and no more than `within` for each `least` bytes. */
final case class BodyTimes(overall: FiniteDuration, least: Long, within: FiniteDuration)

/** Takes in a body of at most `limit` bytes within its times, as far as its `share` of the memory allows. A
  * body of known `length` waits for all of its memory, after a `pause` and for no longer than a body may
  * take; only then is it read, and its times begin.
  *
  * Bytes beyond the limit are counted and dropped. The refusal still waits until the client has sent its
  * body, pauses ([[BodySink.Pause]]) or has gone far beyond the limit ([[BodySink.Tolerance]]): the server
  * closes a connection that it answers early, and a client that is still sending may then see its connection
  * reset instead of the answer with the reason.
  */
final class BodySink(
    limit: Long,
    times: BodyTimes,
    share: BodyBudget.Share = BodyBudget.Free,
    pause: FiniteDuration = Duration.Zero,
    length: Option[Long] = None
) extends GraphStageWithMaterializedValue[SinkShape[ByteString], Future[Either[ApiError, ByteString]]]:
  private val in = Inlet[ByteString]("body")
  override val shape: SinkShape[ByteString] = SinkShape(in)

  override def createLogicAndMaterializedValue(
      attributes: Attributes
  ): (GraphStageLogic, Future[Either[ApiError, ByteString]]) =
    val answer = Promise[Either[ApiError, ByteString]]()
    (Logic(answer), answer.future)

  private final class Logic(answer: Promise[Either[ApiError, ByteString]])
      extends TimerGraphStageLogic(shape),
        InHandler:
    private val gathered = ByteAccumulator()
    private var size = 0L
    private var refused = Option.empty[ApiError]
    private var moved = false
    private var sizeBefore = 0L
    private var slowParts = 0

    setHandler(in, this)

    override def preStart(): Unit =
      if pause > Duration.Zero then scheduleOnce(BodySink.Reserve, pause) else reserve()

    private def reserve(): Unit =
      val reserved = length.fold(Future.unit)(share.reserve)
      if reserved.isCompleted then begin()
      else
        scheduleOnce(BodySink.Wait, times.overall)
        val granted = getAsyncCallback[Unit](_ => if refused.isEmpty then begin())
        reserved.foreach(granted.invoke)(using ExecutionContext.parasitic)

    private def begin(): Unit =
      cancelTimer(BodySink.Wait)
      scheduleOnce(BodySink.Overall, times.overall)
      scheduleWithFixedDelay(BodySink.MinRate, times.within / BodySink.Parts, times.within / BodySink.Parts)
      // A limit of 0 is for a body that is refused unseen: it may never be sent at all.
      if limit == 0 then scheduleWithFixedDelay(BodySink.Paused, BodySink.Pause, BodySink.Pause)
      pull(in)

    override def onPush(): Unit =
      val piece = grab(in)
      size += piece.length
      moved = true
      if refused.isEmpty then
        if size > limit then refuse(ApiError.BodyTooLarge(limit))
        else if isAnnounced(piece) && share.take(piece.length) then gathered.add(piece)
        else refuse(ApiError.Busy)
      if size > limit + BodySink.Tolerance then end(result) else pull(in)

    /** Announces a piece of a body of unknown length, so that later bodies wait for what it turns out to
      * have.
      */
    private def isAnnounced(piece: ByteString): Boolean =
      length.isDefined || share.announce(piece.length).isDefined

    override def onUpstreamFinish(): Unit = end(result)

    override def onUpstreamFailure(cause: Throwable): Unit =
      end(Left(ApiError.MalformedRequest("The body broke off or is badly encoded; send it again.")))

    override protected def onTimer(key: Any): Unit = key match
      case BodySink.Paused if moved => moved = false
      case BodySink.Paused => end(result)
      case BodySink.Reserve => reserve()
      case BodySink.Wait =>
        refuse(ApiError.Busy)
        begin()
      case BodySink.MinRate if size - sizeBefore >= times.least =>
        sizeBefore = size
        slowParts = 0
      // If the whole process stalled for longer, only one part counts; what arrived meanwhile is read in the
      // next.
      case BodySink.MinRate if slowParts + 1 < BodySink.Parts => slowParts += 1
      case _ => end(Left(refused.getOrElse(ApiError.BodyTooSlow)))

    // The stage may be torn down with its connection; no caller must wait for ever.
    override def postStop(): Unit = answer.trySuccess(Left(ApiError.BodyTooSlow))

    private def refuse(error: ApiError): Unit =
      refused = Some(error)
      gathered.clear()
      share.release()
      if limit > 0 then scheduleWithFixedDelay(BodySink.Paused, BodySink.Pause, BodySink.Pause)

    private def result: Either[ApiError, ByteString] = refused.toLeft(gathered.result())

    private def end(result: Either[ApiError, ByteString]): Unit =
      answer.trySuccess(result)
      completeStage()

private object BodySink:
  val Overall = "overall"
  val Paused = "paused"
  val Reserve = "reserve"
  val Wait = "wait"
  val MinRate = "min-rate"

  /** How many parts the time for each `least` bytes is divided into. */
  val Parts = 8

  /** How many bytes beyond the limit are still read and dropped: more than any call accepts, so that a client
    * refused for another reason gets to see the answer; but none can make the server read indefinitely.
    */
  val Tolerance: Long = 128L << 20

  /** How long a client that is being refused may send nothing before it gets its answer. */
  val Pause: FiniteDuration = 500.millis
