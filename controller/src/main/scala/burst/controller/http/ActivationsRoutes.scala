package burst.controller.http

import burst.controller.action.{ActivationHead, ActivationRecord, Activations, BurstPack}
import burst.controller.flare.LogText
import burst.controller.store.{ActivationFilter, Blocking, Identity, LogReader, Transfers}
import burst.protocol.FlareId
import io.circe.Json
import io.circe.syntax.*
import org.apache.pekko.NotUsed
import org.apache.pekko.http.scaladsl.model.{
  ContentTypes,
  HttpEntity,
  HttpRequest,
  HttpResponse,
  ResponseEntity,
  StatusCodes
}
import org.apache.pekko.http.scaladsl.server.Directives.*
import org.apache.pekko.http.scaladsl.server.Route
import org.apache.pekko.stream.scaladsl.Source
import org.apache.pekko.util.ByteString
import scala.concurrent.{ExecutionContext, Future}
import scala.concurrent.duration.DurationInt

/** `/activations`: records of invocations. Whole records are streamed while they are read, as their logs may
  * be large.
  *
  * @param logLimit
  *   how many bytes a log may have; a truncated log ends with a line that names it
  */
final class ActivationsRoutes(
    activations: Activations,
    packs: PackAnswer,
    logs: LogReader,
    blocking: Blocking,
    transfers: Transfers,
    logLimit: Long
)(using ExecutionContext):
  import ActivationsRoutes.*

  private val logAnswer = LogAnswer(logs, transfers)

  def route(caller: Identity): Route =
    concat(
      (pathPrefix("activations") & pathEndOrSingleSlash & get):
        extractRequest(request => Answer(list(caller, request)))
      ,
      pathPrefix("activations" / Segment): text =>
        FlareId.parse(text) match
          case None => Answer.refused(ApiError.InvalidActivationId)
          case Some(id) =>
            get:
              concat(
                pathEndOrSingleSlash(Answer(show(caller, id))),
                path("logs")(Answer(showLogs(caller, id))),
                path("result")(Answer(showResult(caller, id)))
              )
    )

  private def list(caller: Identity, request: HttpRequest): Answer =
    val query = QueryParameters(request.uri.query())
    val wanted =
      for
        page <- query.page()
        name <- query.actionName("name")
        since <- query.time("since")
        upto <- query.time("upto")
        docs <- query.flag("docs")
        count <- query.flag("count")
        _ <- Either.cond(!docs || !count, (), ApiError.CountOfDocuments)
      yield (page, ActivationFilter(name, since, upto.map(_ + 999.micros)), docs, count)
    Refusable(wanted): (page, filter, docs, count) =>
      val namespace = caller.namespace
      if count then
        blocking(activations.count(namespace, filter)).map: all =>
          ok(JsonMarshalling.entity(Json.obj("activations" -> (all - page.skip).max(0).asJson)))
      else if docs then
        blocking(activations.ids(namespace, filter, page.limit, page.skip)).map: ids =>
          ok(streamed(documents(caller, ids)))
      else
        reading(caller)(activations.list(namespace, filter, page.limit, page.skip)).map: found =>
          ok(JsonMarshalling.entity(Json.fromValues(found.map(ActivationViews.inList))))

  private def show(caller: Identity, id: FlareId): Answer =
    Refusable(own(caller, id))(found => document(caller, found).map(source => ok(streamed(source))))

  private def showResult(caller: Identity, id: FlareId): Answer =
    Refusable(own(caller, id)): found =>
      val (before, after) = ActivationViews.aroundResult(headOf(found), sizeOf(found))
      Future.successful(ok(streamed(around(before, resultOf(found), after))))

  private def showLogs(caller: Identity, id: FlareId): Answer =
    Refusable(own(caller, id)): found =>
      linesOf(caller, found).map: lines =>
        ok(streamed(around(ByteString("""{"logs":["""), lines, ByteString("]}"))))

  private def own(caller: Identity, id: FlareId): Future[Either[ApiError, Found]] =
    reading(caller)(find(caller, id).toRight(ApiError.NoSuchActivation(id)))

  private def find(caller: Identity, id: FlareId): Option[Found] =
    activations.find(caller.namespace, id).orElse(activations.findPack(caller.namespace, id))

  /** Reads on the namespace's transfer threads, as results may be large and in a bucket. */
  private def reading[A](caller: Identity)(work: => A): Future[A] =
    transfers.blocking(caller.namespace)(work)

  /** Returns the records as an array, one after the other; records deleted in the meantime are left out. */
  private def documents(caller: Identity, ids: Vector[FlareId]): Source[ByteString, NotUsed] =
    val each = Source(ids)
      .mapAsync(Ahead)(id => reading(caller)(find(caller, id)))
      .mapConcat(identity)
      .zipWithIndex
      .flatMapConcat: (found, index) =>
        val comma = if index > 0 then Source.single(ByteString(",")) else Source.empty
        comma.concat(Source.futureSource(document(caller, found)))
    around(ByteString("["), each, ByteString("]"))

  private def document(caller: Identity, found: Found): Future[Source[ByteString, NotUsed]] =
    val head = headOf(found)
    val (before, between, after) = ActivationViews.around(head, sizeOf(found))
    linesOf(caller, found).map: lines =>
      Source.single(before).concat(resultOf(found)).concat(around(between, lines, after))

  private def resultOf(found: Found): Source[ByteString, NotUsed] = found match
    case record: ActivationRecord => Source.single(record.result.bytes)
    case pack: BurstPack => packs.outputs(pack)

  /** Returns the lines of its log, separated by commas. */
  private def linesOf(caller: Identity, found: Found): Future[Source[ByteString, NotUsed]] = found match
    case record: ActivationRecord if record.logs.nonEmpty =>
      Future.successful(Source.single(ByteString(record.logs.map(_.asJson.noSpaces).mkString(","))))
    case record: ActivationRecord => logOf(caller, record.id, record.head, _ => true)
    case pack: BurstPack => logOf(caller, pack.flare.id, pack.head, _.pack == pack.pack.pack)

  private def logOf(
      caller: Identity,
      flare: FlareId,
      head: ActivationHead,
      wanted: LogText => Boolean
  ): Future[Source[ByteString, NotUsed]] =
    logAnswer.lines(caller.namespace, flare, wanted)(jsonOf).map: (extent, lines) =>
      val ended = head.end.getOrElse(head.start)
      val last = Option.when(extent.truncated)(ActivationViews.truncated(logLimit, ended).asJson.noSpaces)
      lines.concat(Source(last.toVector)).intersperse(",").map(ByteString(_))

private object ActivationsRoutes:
  /** How many records are read ahead of sending them. */
  val Ahead = 3

  /** What an activation id can refer to. */
  type Found = ActivationRecord | BurstPack

  def headOf(found: Found): ActivationHead = found match
    case record: ActivationRecord => record.head
    case pack: BurstPack => pack.head

  /** The size of a result in bytes, if it is already in memory. */
  def sizeOf(found: Found): Option[Int] = found match
    case record: ActivationRecord => Some(record.result.length)
    case _: BurstPack => None

  def jsonOf(text: LogText, line: String): String = ActivationViews.line(text, line).asJson.noSpaces

  def around(
      before: ByteString,
      inside: Source[ByteString, NotUsed],
      after: ByteString
  ): Source[ByteString, NotUsed] =
    Source.single(before).concat(inside).concat(Source.single(after))

  def streamed(source: Source[ByteString, NotUsed]): HttpEntity.Chunked =
    HttpEntity.Chunked.fromData(ContentTypes.`application/json`, source.filter(_.nonEmpty))

  def ok(entity: ResponseEntity): Either[ApiError, HttpResponse] =
    Right(HttpResponse(StatusCodes.OK, entity = entity))
