package burst.controller.web

import burst.controller.action.ActionName
import burst.controller.definition.EntityName
import org.apache.pekko.http.scaladsl.model.Uri.Path
import org.apache.pekko.http.scaladsl.model.Uri.Path.{Segment, Slash}

/** The action that a path names, how its result is read, and the rest of the path, as it is written in the
  * URL.
  */
final case class WebPath(action: ActionName, extension: WebExtension, rest: String)

object WebPath:
  /** The name that stands for no package. */
  private val NoPackage = "default"

  /** Parses `/namespace/package/action[.extension][/rest]`. A segment is one name, however it is encoded: an
    * encoded slash, or dots, do not make it a different path.
    */
  def of(path: Path): Option[WebPath] = path match
    case Slash(Segment(namespace, Slash(Segment(packageName, Slash(Segment(last, rest)))))) =>
      val (name, extension) = WebExtension.split(last)
      Option.when(Seq(namespace, packageName, name).forall(EntityName.isValid)):
        val inPackage = Option.unless(packageName == NoPackage)(packageName)
        WebPath(ActionName(namespace, inPackage, name), extension, rest.toString)
    case _ => None
