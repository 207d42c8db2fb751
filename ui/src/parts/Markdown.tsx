import { Box, Code, Heading, Link, Separator, Table, Text } from "@chakra-ui/react";
import { lexer, type Token, type Tokens } from "marked";
import { Fragment, type ReactNode } from "react";

const SAFE_LINK = /^(?:https?:|mailto:|#|\/(?!\/)|[^:]*$)/i;

/**
 * A text in Markdown. Every element is made here from what the parser found, so a description can hold no script:
 * HTML in it is shown as the text it is, images are links, and a link leads to the web, to a mailbox or into Airflow.
 */
export const Markdown = ({ text }: { text: string }) => (
  <Box overflowWrap="anywhere">{lexer(text, { async: false, gfm: true }).map(blockOf)}</Box>
);

const blockOf = (token: Token, key: number): ReactNode => {
  const make = BLOCKS[token.type];
  if (make !== undefined) return <Fragment key={key}>{make(token as never)}</Fragment>;
  return (
    <Text key={key} mb={2}>
      {inlineOf(token, 0)}
    </Text>
  );
};

const BLOCKS: Record<string, (token: never) => ReactNode> = {
  blockquote: (token: Tokens.Blockquote) => (
    <Box as="blockquote" borderLeftWidth={3} color="fg.muted" mb={2} pl={3}>
      {token.tokens.map(blockOf)}
    </Box>
  ),
  code: (token: Tokens.Code) => (
    <Box as="pre" bg="bg.muted" borderRadius="md" fontSize="sm" mb={2} overflowX="auto" p={3} tabIndex={0}>
      <code>{token.text}</code>
    </Box>
  ),
  def: () => null,
  heading: (token: Tokens.Heading) => (
    // The page's own headings end at the second level.
    <Heading as={token.depth === 1 ? "h3" : token.depth === 2 ? "h4" : "h5"} mb={1} mt={3} size={token.depth === 1 ? "md" : "sm"}>
      {inlinesOf(token.tokens)}
    </Heading>
  ),
  hr: () => <Separator my={3} />,
  list: (token: Tokens.List) => (
    <Box as={token.ordered ? "ol" : "ul"} listStyleType={token.ordered ? "decimal" : "disc"} mb={2} pl={6}>
      {token.items.map((item, at) => (
        <li key={at}>{item.tokens.map((inner, key) => (inner.type === "text" ? <Fragment key={key}>{inlineOf(inner, key)}</Fragment> : blockOf(inner, key)))}</li>
      ))}
    </Box>
  ),
  paragraph: (token: Tokens.Paragraph) => <Text mb={2}>{inlinesOf(token.tokens)}</Text>,
  space: () => null,
  table: (token: Tokens.Table) => (
    <Box mb={2} overflowX="auto" role="region" aria-label="Table" tabIndex={0}>
      <Table.Root size="sm" width="auto">
        <Table.Header>
          <Table.Row>
            {token.header.map((cell, at) => (
              <Table.ColumnHeader key={at}>{inlinesOf(cell.tokens)}</Table.ColumnHeader>
            ))}
          </Table.Row>
        </Table.Header>
        <Table.Body>
          {token.rows.map((row, line) => (
            <Table.Row key={line}>
              {row.map((cell, at) => (
                <Table.Cell key={at}>{inlinesOf(cell.tokens)}</Table.Cell>
              ))}
            </Table.Row>
          ))}
        </Table.Body>
      </Table.Root>
    </Box>
  ),
};

const inlinesOf = (tokens: readonly Token[] | undefined): ReactNode => tokens?.map(inlineOf);

const inlineOf = (token: Token, key: number): ReactNode => {
  const inner = "tokens" in token && token.tokens !== undefined ? inlinesOf(token.tokens) : undefined;
  switch (token.type) {
    case "br":
      return <br key={key} />;
    case "codespan":
      return <Code key={key}>{(token as Tokens.Codespan).text}</Code>;
    case "del":
      return <del key={key}>{inner}</del>;
    case "em":
      return <em key={key}>{inner}</em>;
    case "escape":
      return <Fragment key={key}>{(token as Tokens.Escape).text}</Fragment>;
    case "image":
    case "link":
      return linkOf(token as Tokens.Link, inner ?? (token as Tokens.Link).text, key);
    case "strong":
      return <strong key={key}>{inner}</strong>;
    case "text":
      return <Fragment key={key}>{inner ?? (token as Tokens.Text).text}</Fragment>;
    default:
      return <Fragment key={key}>{token.raw}</Fragment>;
  }
};

const linkOf = ({ href, raw }: Tokens.Link, words: ReactNode, key: number): ReactNode =>
  SAFE_LINK.test(href.trim()) ? (
    <Link colorPalette="brand" href={href} key={key} rel="noreferrer noopener" target={/^https?:/i.test(href) ? "_blank" : undefined} variant="underline">
      {words}
    </Link>
  ) : (
    <Fragment key={key}>{raw}</Fragment>
  );
