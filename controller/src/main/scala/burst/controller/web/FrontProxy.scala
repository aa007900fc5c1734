package burst.controller.web

import burst.controller.definition.EntityName
import org.apache.pekko.http.scaladsl.model.Uri.Path

/** Each namespace has a host of its own below `domain`, on which there is nothing but its web actions. */
final class FrontProxy(domain: String):
  /** Where what is asked for at that host is, by path; nothing when the host is none of these. */
  def path(host: String, path: Path): Option[Path] =
    Option
      .when(host.endsWith(s".$domain"))(host.stripSuffix(s".$domain"))
      .filter(name => EntityName.isValid(name) && !name.contains('.'))
      .map: namespace =>
        val rest = if path.isEmpty || path == Path.SingleSlash then FrontProxy.Index else path
        FrontProxy.Web / namespace ++ rest

object FrontProxy:
  private val Web = Path("/api/v1/web")
  private val Index = Path("/public/index.html")
