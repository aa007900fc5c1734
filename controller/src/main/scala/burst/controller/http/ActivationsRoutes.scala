package burst.controller.http

import burst.controller.action.{ActivationRecord, Activations}
import burst.controller.flare.LogText
import burst.controller.store.{ActivationFilter, Blocking, Identity, LogReader, Transfers}
import burst.protocol.FlareId
import io.circe.Json
import io.circe.syntax.*
import org.apache.pekko.NotUsed
import org.apache.pekko.http.scaladsl.model.{ContentTypes, HttpEntity, HttpRequest, HttpResponse, StatusCodes}
import org.apache.pekko.http.scaladsl.server.Directives.*
import org.apache.pekko.http.scaladsl.server.Route
import org.apache.pekko.stream.scaladsl.Source
import org.apache.pekko.util.ByteString
import scala.concurrent.{ExecutionContext, Future}

/** `/activations`: what became of invocations. Whole records are written while they are read, as their logs
  * may be large.
  *
  * @param logLimit
  *   what a log may have, as told where it had more
  */
final class ActivationsRoutes(
    activations: Activations,
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
      yield (page, ActivationFilter(name, since.map(_ * 1000), upto.map(_ * 1000 + 999)), docs, count)
    Refusable(wanted): (page, filter, docs, count) =>
      val namespace = caller.namespace
      if count then
        blocking(activations.count(namespace, filter)).map: all =>
          ok(JsonMarshalling.entity(Json.obj("activations" -> (all - page.skip).max(0).asJson)))
      else
        reading(caller)(activations.list(namespace, filter, page.limit, page.skip)).map: found =>
          if docs then ok(streamed(documents(caller, found.map(_.id))))
          else ok(JsonMarshalling.entity(Json.fromValues(found.map(ActivationViews.inList))))

  private def show(caller: Identity, id: FlareId): Answer =
    Refusable(own(caller, id))(record => document(caller, record).map(source => ok(streamed(source))))

  private def showResult(caller: Identity, id: FlareId): Answer =
    Refusable(own(caller, id)): record =>
      Future.successful(ok(HttpEntity(ContentTypes.`application/json`, ActivationViews.result(record))))

  private def showLogs(caller: Identity, id: FlareId): Answer =
    Refusable(own(caller, id)): record =>
      linesOf(caller, record).map: lines =>
        ok(streamed(around(ByteString("""{"logs":["""), lines, ByteString("]}"))))

  private def own(caller: Identity, id: FlareId): Future[Either[ApiError, ActivationRecord]] =
    reading(caller)(activations.find(caller.namespace, id).toRight(ApiError.NoSuchActivation(id)))

  /** Results may be large, and in a bucket. */
  private def reading[A](caller: Identity)(work: => A): Future[A] =
    Blocking(transfers.of(caller.namespace))(work)

  /** One after the other; one that has gone meanwhile is left out. */
  private def documents(caller: Identity, ids: Vector[FlareId]): Source[ByteString, NotUsed] =
    val each = Source(ids)
      .mapAsync(1)(id => reading(caller)(activations.find(caller.namespace, id)))
      .mapConcat(identity)
      .zipWithIndex
      .flatMapConcat: (record, index) =>
        val comma = if index > 0 then Source.single(ByteString(",")) else Source.empty
        comma.concat(Source.futureSource(document(caller, record)))
    around(ByteString("["), each, ByteString("]"))

  private def document(caller: Identity, record: ActivationRecord): Future[Source[ByteString, NotUsed]] =
    val (before, after) = ActivationViews.around(record)
    linesOf(caller, record).map(around(before, _, after))

  /** The lines of its log, with commas between. */
  private def linesOf(caller: Identity, record: ActivationRecord): Future[Source[ByteString, NotUsed]] =
    if record.logs.nonEmpty then
      Future.successful(Source.single(ByteString(record.logs.map(_.asJson.noSpaces).mkString(","))))
    else
      logAnswer.lines(caller.namespace, record.id, _ => true)(jsonOf).map: (extent, lines) =>
        val ended = record.head.end.getOrElse(record.head.start) * 1000
        val last = Option.when(extent.truncated)(ActivationViews.truncated(logLimit, ended).asJson.noSpaces)
        lines.concat(Source(last.toVector)).intersperse(",").map(ByteString(_))

private object ActivationsRoutes:
  def jsonOf(text: LogText, line: String): String = ActivationViews.line(text, line).asJson.noSpaces

  def around(
      before: ByteString,
      inside: Source[ByteString, NotUsed],
      after: ByteString
  ): Source[ByteString, NotUsed] =
    Source.single(before).concat(inside).concat(Source.single(after))

  def streamed(source: Source[ByteString, NotUsed]): HttpEntity.Chunked =
    HttpEntity.Chunked.fromData(ContentTypes.`application/json`, source.filter(_.nonEmpty))

  def ok(entity: org.apache.pekko.http.scaladsl.model.ResponseEntity): Either[ApiError, HttpResponse] =
    Right(HttpResponse(StatusCodes.OK, entity = entity))
