package burst.controller.http

import org.apache.pekko.http.scaladsl.model.Uri.Path
import scala.annotation.tailrec

/** The paths of the API's description, by which metrics distinguish requests: their number is fixed, whatever
  * clients ask for. A parameter matches any segment for which no other path has a literal, `{rest}` all that
  * follow.
  */
private[http] final class RouteTemplates private (root: RouteTemplates.Node):
  import RouteTemplates.Node

  /** Returns the template of a request's path, if there is one. */
  def of(path: Path): Option[String] = walk(root, path)

  @tailrec private def walk(node: Node, path: Path): Option[String] = path match
    case Path.Empty | Path.SingleSlash => node.here
    case Path.Slash(Path.Segment(name, tail)) =>
      node.named.get(name).orElse(node.any) match
        case Some(next) => walk(next, tail)
        case None => node.rest
    case _ => node.rest

private[http] object RouteTemplates:
  private final case class Node(
      named: Map[String, Node] = Map.empty,
      any: Option[Node] = None,
      rest: Option[String] = None,
      here: Option[String] = None
  ):
    def add(template: String, segments: List[String]): Node = segments match
      case Nil => copy(here = Some(template))
      case "{rest}" :: _ => copy(rest = Some(template))
      case s"{$_}" :: more => copy(any = Some(any.getOrElse(Node()).add(template, more)))
      case name :: more =>
        copy(named = named.updated(name, named.getOrElse(name, Node()).add(template, more)))

  def apply(templates: Iterable[String]): RouteTemplates =
    new RouteTemplates(templates.foldLeft(Node()): (root, template) =>
      root.add(template, template.split('/').toList.drop(1)))

  /** Returns the methods of each path in the API's description, in capitals. Reads its lines as text: parsing
    * it as YAML would take a good part of the start-up time.
    */
  def described: Map[String, Set[String]] =
    val lines = ApiDescriptionAnswer.text.utf8String.linesIterator
    val (methods, _) = lines
      .dropWhile(_ != "paths:")
      .drop(1)
      .takeWhile(line => line.isEmpty || line.startsWith(" "))
      .foldLeft((Map.empty[String, Set[String]], "")):
        case ((found, _), s"  /$path:") => (found.updated(s"/$path", Set.empty), s"/$path")
        case ((found, path), s"    $key:$_") if Methods(key) =>
          (found.updated(path, found(path) + key.toUpperCase), path)
        case (sofar, _) => sofar
    methods

  private val Methods = Set("get", "put", "post", "delete", "head", "options", "patch")
