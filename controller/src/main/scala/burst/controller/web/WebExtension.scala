package burst.controller.web

import org.apache.pekko.http.scaladsl.model.{ContentType, ContentTypes, MediaTypes}

/** How a web action's result is read, by the extension of its name in the path. */
enum WebExtension(val suffix: String, val contentType: Option[ContentType]):
  /** The result itself contains status, headers and body. */
  case Http extends WebExtension(".http", None)
  case Json extends WebExtension(".json", Some(ContentTypes.`application/json`))
  case Html extends WebExtension(".html", Some(ContentTypes.`text/html(UTF-8)`))
  case Svg extends WebExtension(".svg", Some(MediaTypes.`image/svg+xml`.toContentType))
  case Text extends WebExtension(".text", Some(ContentTypes.`text/plain(UTF-8)`))

object WebExtension:
  /** Splits a name into the name and its extension. Any other suffix is a part of the name. */
  def split(name: String): (String, WebExtension) =
    values
      .find(extension => name.endsWith(extension.suffix))
      .fold((name, Http))(extension => (name.stripSuffix(extension.suffix), extension))
