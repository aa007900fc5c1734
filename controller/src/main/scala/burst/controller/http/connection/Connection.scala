package burst.controller.http.connection

import burst.node.MonotonicTime
import org.apache.pekko.http.scaladsl.model.{AttributeKey, HttpEntity, HttpRequest, HttpResponse}
import org.apache.pekko.http.scaladsl.model.headers.Connection as ConnectionHeader
import org.apache.pekko.stream.scaladsl.Flow
import scala.concurrent.{ExecutionContext, Future, Promise}

/** A client's connection, with the state that decides which one is cut when there are too many: whether a
  * request is under way on it, and whether it has shown valid credentials.
  */
final class Connection private[connection] (registry: Connections, val client: String):
  import Connection.*

  private val ended = Promise[End]()
  // Bytes of an incomplete request header; all of them are held in memory.
  private var header = 0L
  @volatile private var state =
    State(requests = 0, trusted = false, MonotonicTime.now(), fresh = true)

  /** Records that a request's header is complete. */
  def requested(request: HttpRequest): HttpRequest =
    header = 0
    move(now => now.copy(requests = now.requests + 1, fresh = false))
    request.addAttribute(Key, this)

  /** Whether the connection accepts that many more bytes of an incomplete header. The piece with its end may
    * also hold much of the body, so only bytes that arrive after the limit was exceeded are too many.
    */
  private[connection] def takes(size: Int): Boolean =
    val before = header
    if !state.underWay then header += size
    val fits = state.underWay || before <= registry.headerSize
    if !fits then mustEnd(End.Cut)
    fits

  /** Records whether the request's credentials are valid. */
  def showed(valid: Boolean): Unit = if state.trusted != valid then move(_.copy(trusted = valid))

  /** Records that the request is answered; a streamed answer counts when it ends. */
  def answered(response: HttpResponse): HttpResponse =
    val last = if registry.closing then response.addHeader(ConnectionHeader("close")) else response
    last.entity match
      case _: HttpEntity.Strict =>
        rest()
        last
      case entity: HttpEntity.Default => last.withEntity(entity.copy(data = entity.data.via(watched)))
      case entity: HttpEntity.Chunked => last.withEntity(entity.copy(chunks = entity.chunks.via(watched)))
      case entity: HttpEntity.CloseDelimited => last.withEntity(entity.copy(data = entity.data.via(watched)))

  private[connection] def now: State = state

  /** Completes when the platform has to end the connection. */
  private[connection] def end: Future[End] = ended.future

  private[connection] def mustEnd(how: End): Unit = ended.trySuccess(how)

  private[connection] def gone(): Unit = registry.remove(this)

  private def rest(): Unit = move(now => now.copy(requests = now.requests - 1))

  private def move(change: State => State): Unit = registry.moved(this):
    state = change(state).copy(since = MonotonicTime.now())

  private def watched[A]: Flow[A, A, Any] =
    Flow[A].watchTermination()((_, done) => done.onComplete(_ => rest())(ExecutionContext.parasitic))

object Connection:
  private val Key = AttributeKey[Connection]("burst-connection")

  /** Returns the connection a request came over. */
  def of(request: HttpRequest): Option[Connection] = request.attribute(Key)

  /** The state of a connection since `since`; `fresh` if it has had no request yet. The next request may
    * arrive before the last one is fully answered.
    */
  private[connection] final case class State(
      requests: Int,
      trusted: Boolean,
      since: MonotonicTime,
      fresh: Boolean
  ):
    def underWay: Boolean = requests > 0

  /** How the platform ends a connection. */
  private[connection] enum End:
    /** After the requests under way are answered. */
    case Finish

    /** Immediately. */
    case Cut
