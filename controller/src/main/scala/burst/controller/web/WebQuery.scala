package burst.controller.web

import org.apache.pekko.http.scaladsl.model.{HttpCharsets, Uri}
import org.apache.pekko.http.scaladsl.model.Uri.ParsingMode
import scala.util.Try

/** Names and values, as in queries and forms. */
object WebQuery:
  def parse(text: String): Either[WebProblem, Vector[(String, String)]] =
    if text.count(_ == '&') >= WebBody.MostFields then Left(WebProblem.TooManyFields(WebBody.MostFields))
    else
      // The parser throws if the query is malformed.
      Try(Uri.Query(text, HttpCharsets.`UTF-8`.nioCharset, ParsingMode.Relaxed).toVector)
        .toEither
        .left
        .map(_ => WebProblem.MalformedQuery)
        .map(_.filter((name, value) => name.nonEmpty || value.nonEmpty))
