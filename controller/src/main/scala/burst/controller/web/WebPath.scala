package burst.controller.web

import burst.controller.action.ActionName
import burst.controller.definition.EntityName
import org.apache.pekko.http.scaladsl.model.Uri.Path
import org.apache.pekko.http.scaladsl.model.Uri.Path.{Segment, Slash}

/** Which action a path means, what of, and what follows it, as it is written in a URL. */
final case class WebPath(action: ActionName, extension: WebExtension, rest: String)

object WebPath:
  /** What stands for no package. */
  private val NoPackage = "default"

  /** `/namespace/package/action[.extension][/rest]`. A segment is one name, whatever it was written with: an
    * encoded slash, or dots, make no other path of it.
    */
  def of(path: Path): Option[WebPath] = path match
    case Slash(Segment(namespace, Slash(Segment(packageName, Slash(Segment(last, rest)))))) =>
      val (name, extension) = WebExtension.split(last)
      Option.when(Seq(namespace, packageName, name).forall(EntityName.isValid)):
        val inPackage = Option.unless(packageName == NoPackage)(packageName)
        WebPath(ActionName(namespace, inPackage, name), extension, rest.toString)
    case _ => None
