package burst.controller.http.connection

import burst.node.MonotonicTime
import org.apache.pekko.http.scaladsl.model.{AttributeKey, HttpEntity, HttpRequest, HttpResponse}
import org.apache.pekko.http.scaladsl.model.headers.Connection as ConnectionHeader
import org.apache.pekko.stream.scaladsl.Flow
import scala.concurrent.{ExecutionContext, Future, Promise}

/** One connection of a client, as far as it matters to who has to go when there are too many: whether a
  * request is under way on it, and whether it has shown credentials.
  */
final class Connection private[connection] (registry: Connections, val client: String):
  import Connection.*

  private val ended = Promise[End]()
  // Bytes of a request that is not complete; all of them are held.
  private var header = 0L
  @volatile private var state =
    State(requests = 0, trusted = false, MonotonicTime.now(), fresh = true)

  /** A request's header is complete. */
  def requested(request: HttpRequest): HttpRequest =
    header = 0
    move(now => now.copy(requests = now.requests + 1, fresh = false))
    request.addAttribute(Key, this)

  /** Whether so many bytes more are taken of what is not yet a request. The piece with its end may hold much
    * of its body, too, so that only what comes after too much is too much.
    */
  private[connection] def takes(size: Int): Boolean =
    val before = header
    if !state.underWay then header += size
    val fits = state.underWay || before <= registry.headerSize
    if !fits then mustEnd(End.Cut)
    fits

  /** The request's credentials were looked at. */
  def showed(valid: Boolean): Unit = if state.trusted != valid then move(_.copy(trusted = valid))

  /** The request has its answer; one that is streamed, when it ends. */
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

  /** When it has to end before the client ends it. */
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

  /** The one a request came over. */
  def of(request: HttpRequest): Option[Connection] = request.attribute(Key)

  /** `since` when; `fresh` without any request so far. The next one may come before the last has its whole
    * answer.
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
    /** When what was begun is answered. */
    case Finish

    /** At once. */
    case Cut
