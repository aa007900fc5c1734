package burst.controller.web

import org.apache.pekko.http.scaladsl.model.{ContentType, ContentTypes, MediaTypes}

/** What a web action's result is to be read as, by the ending of its name in the path. */
enum WebExtension(val suffix: String, val contentType: Option[ContentType]):
  /** Status, headers and body are the result's own. */
  case Http extends WebExtension(".http", None)
  case Json extends WebExtension(".json", Some(ContentTypes.`application/json`))
  case Html extends WebExtension(".html", Some(ContentTypes.`text/html(UTF-8)`))
  case Svg extends WebExtension(".svg", Some(MediaTypes.`image/svg+xml`.toContentType))
  case Text extends WebExtension(".text", Some(ContentTypes.`text/plain(UTF-8)`))

object WebExtension:
  /** A name without its extension, and that. Another ending is a part of the name. */
  def split(name: String): (String, WebExtension) =
    values
      .find(extension => name.endsWith(extension.suffix))
      .fold((name, Http))(extension => (name.stripSuffix(extension.suffix), extension))
