package burst.controller.http

import burst.controller.store.Blocking
import io.circe.Json
import io.circe.syntax.*
import org.apache.pekko.http.scaladsl.model.HttpRequest

/** Answers with a page of a namespace's entities of one kind; with `count`, with how many there are from the
  * page's start on.
  */
object EntityList:
  def apply(kind: String, request: HttpRequest, blocking: Blocking)(count: => Int)(
      entities: Page => Iterable[Json]
  ): Answer =
    val query = QueryParameters(request.uri.query())
    val wanted = query.page().flatMap(page => query.flag("count").map(page -> _))
    Refusable(wanted): (page, counted) =>
      blocking:
        JsonMarshalling.ok:
          if counted then Json.obj(kind -> (count - page.skip).max(0).asJson)
          else Json.fromValues(entities(page))
