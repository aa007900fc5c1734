package burst.controller.web

import burst.controller.definition.EntityName
import org.apache.pekko.http.scaladsl.model.Uri.Path

/** Gives each namespace a host of its own below `domain`, with nothing but its web actions. */
final class FrontProxy(domain: String):
  /** Returns the API path for a path at such a host; none if the host is no namespace's. */
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
